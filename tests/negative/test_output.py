"""What the lab prints moves no cursor and turns no direction of reading; what cannot be written is told, with exit code 3."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reports.embedding import visible
from scenarios.stored.rundir import write_whole
from tasklab.exit_codes import EXIT_UNKNOWN
from tasklab.presentation.terminal import print_json
from tasklab.running.places import append_line

HOSTILE = "a\u202eb\x1b[2Jc\x9bd\re\u2066f\x7f"
FULL = Path("/dev/full")


def tasklab(
    *argv: str | Path, stdout: Path | None = None, cwd: Path, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tasklab", *map(str, argv)]
    with (stdout or Path("/dev/null")).open("wb") as nowhere:
        return subprocess.run(
            command,
            cwd=cwd,
            # On a full disk Python writes half a .pyc file, which would break the imports of every later test.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=nowhere if stdout else subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
            preexec_fn=before,
            timeout=120,
        )


def a_history(place: Path) -> Path:
    events = [
        {"t_s": 0, "actor": "c", "event": "submit.invoke", "task": HOSTILE},
        {"t_s": 1, "actor": "c", "event": "submit.ok", "task": HOSTILE},
        {"t_s": 2, "actor": "lab", "event": "final", "healed": True, "caught_up": True, "done": []},
    ]
    file = place / "history.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    return file


def test_json_of_a_hostile_name_is_harmless_and_means_the_same(tmp_path: Path) -> None:
    done = tasklab("check", a_history(tmp_path), "--json", cwd=tmp_path)

    text = done.stdout.decode()
    assert done.returncode == 1
    assert visible(text) == text
    assert HOSTILE in json.loads(text)["verdicts"]["no_lost_task"]["witnesses"]


def test_json_of_half_a_surrogate_pair_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "a\ud800b"})

    assert json.loads(capsys.readouterr().out) == {"name": "a\ud800b"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_that_is_not_utf_8_gets_escapes(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    monkeypatch.setenv("PYTHONUTF8", "0")

    done = tasklab("check", a_history(tmp_path), cwd=tmp_path)

    assert done.returncode == 1, done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "argv", [("list", "scenarios"), ("check", "history.jsonl"), ("check", "history.jsonl", "--json")]
)
def test_output_on_a_full_disk_is_unknown_and_one_sentence(argv: tuple[str, ...], tmp_path: Path) -> None:
    a_history(tmp_path)

    done = tasklab(*argv, stdout=FULL, cwd=tmp_path)

    assert done.returncode == EXIT_UNKNOWN
    assert done.stderr.decode() == (
        "tasklab: unknown: the disk is full or cannot be written: the output: no space left on device\n"
    )


@pytest.mark.parametrize("file_bytes_max", [100, 3000, 20_000])
def test_a_run_on_a_full_disk_is_unknown_and_leaves_nothing_half_written(file_bytes_max: int, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes_max, file_bytes_max))

    argv = ("run", "ack_lost", "--environment", "simulated", "--seed", "3", "--out", "out")

    done = tasklab(*argv, cwd=tmp_path, before=limit)

    assert done.returncode == EXIT_UNKNOWN
    assert done.stderr.decode().splitlines()[-1].startswith("tasklab: unknown: the disk is full or cannot be written: ")
    assert b"Traceback" not in done.stderr
    assert not list(tmp_path.rglob(".*"))
    for written in tmp_path.rglob("*.json"):
        json.loads(written.read_text())


def limited(work: Callable[[], object], bytes_max: int) -> int:
    """The `errno` with which the work ends where no file may be longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, before[1]))
    try:
        with pytest.raises(OSError) as caught:  # noqa: PT011 — the kernel's error
            work()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.errno is not None
    return caught.value.errno


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", b"before")

    limited(lambda: write_whole(tmp_path / "file", b"x" * 100), 50)

    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("file", b"before")]


def test_a_line_is_appended_whole_or_not_at_all(tmp_path: Path) -> None:
    append_line(tmp_path / "rows", b"before")

    limited(lambda: append_line(tmp_path / "rows", b"x" * 100), 50)

    assert (tmp_path / "rows").read_bytes() == b"before\n"
