"""The outermost edge of the command line."""

import sys

import pytest

from tasklab import __main__ as face


def test_a_fault_of_the_lab_itself_is_unknown_and_never_a_broken_promise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash() -> None:
        raise ZeroDivisionError("of the lab's own")

    monkeypatch.setattr(face, "app", crash)
    monkeypatch.setattr(face.signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "path", list(sys.path))

    with pytest.raises(SystemExit) as ended:
        face.main()

    assert ended.value.code == 3
    said = capsys.readouterr().err
    assert "ZeroDivisionError: of the lab's own" in said
    assert said.splitlines()[-1].startswith("tasklab: unknown: the lab itself is at fault")
