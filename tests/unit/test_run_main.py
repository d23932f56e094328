"""The outermost edge of the command line."""

import pytest

from tasklab import command_line as face


def test_a_fault_of_the_lab_itself_is_unknown_and_never_a_broken_promise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash() -> None:
        raise ZeroDivisionError("of the lab's own")

    monkeypatch.setattr(face, "app", crash)
    monkeypatch.setattr(face.signal, "signal", lambda *_: None)

    with pytest.raises(SystemExit) as ended:
        face.run_command_line()

    assert ended.value.code == 3
    said = capsys.readouterr().err
    assert "ZeroDivisionError: of the lab's own" in said
    assert said.splitlines()[-1].startswith("tasklab: unknown: internal error of the lab")
