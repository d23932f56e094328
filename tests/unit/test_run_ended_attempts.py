"""How attempts have ended so far is read from the history files of the workers, while they are written."""

import json
import os
from pathlib import Path

import pytest

from scenarios.judging.policy import Policy
from scenarios.real.attempts import LINE_BYTES_MAX, EndedAttempts
from scenarios.stored.rundir import RunDirectory


def written(directory: Path, worker: str, *events: tuple[str, str], end: str = "\n") -> None:
    lines = [json.dumps({"t_ns": 1, "actor": worker, "event": event, "task": task}) for event, task in events]
    with (directory / f"history.{worker}.17.jsonl").open("a") as file:
        file.write("\n".join(lines) + end)


def test_a_task_is_done_when_an_attempt_of_it_succeeded_and_dead_when_it_failed_as_often_as_it_may(
    tmp_path: Path,
) -> None:
    ended = EndedAttempts(RunDirectory(tmp_path), Policy(attempts_max=2))
    written(tmp_path, "w1", ("attempt.start", "a"), ("attempt.ok", "a"), ("attempt.fail", "b"), ("attempt.fail", "c"))
    first = ended.read()

    written(tmp_path, "w2", ("attempt.fail", "b"), ("attempt.fail", "c"), ("attempt.ok", "c"))

    assert first == (("a",), ())
    assert ended.read() == (("a", "c"), ("b",))


def test_without_a_limit_no_number_of_failures_ends_a_task(tmp_path: Path) -> None:
    written(tmp_path, "w1", *[("attempt.fail", "a")] * 100)

    assert EndedAttempts(RunDirectory(tmp_path), Policy(attempts_max=None)).read() == ((), ())


def test_a_line_that_is_not_complete_yet_is_read_later(tmp_path: Path) -> None:
    ended = EndedAttempts(RunDirectory(tmp_path), Policy(attempts_max=2))
    written(tmp_path, "w1", ("attempt.ok", "a"), end="")
    before = ended.read()

    written(tmp_path, "w1", end="\n")

    assert (before, ended.read()) == (((), ()), (("a",), ()))


def test_what_workers_in_other_languages_told_the_lab_counts(tmp_path: Path) -> None:
    (tmp_path / "history.probe.jsonl").write_text('{"event": "attempt.ok", "task": "a"}\n')

    assert EndedAttempts(RunDirectory(tmp_path), Policy(attempts_max=2)).read() == (("a",), ())


def test_the_files_of_clients_and_of_the_lab_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "history.client.jsonl").write_text('{"event": "attempt.ok", "task": "a"}\n')

    assert EndedAttempts(RunDirectory(tmp_path), Policy(attempts_max=2)).read() == ((), ())


@pytest.mark.parametrize(
    "line",
    [
        '"attempt.ok"',
        '{"event": "attempt.ok"}',
        '{"event": "attempt.ok", "task": 7}',
        '{"attempt.ok',
        "[" * 9_000 + '"attempt.ok"',
    ],
    ids=["no object", "no task", "no name", "no JSON", "too deep"],
)
def test_a_malformed_line_is_passed_over(tmp_path: Path, line: str) -> None:
    (tmp_path / "history.w1.17.jsonl").write_text(f"{line}\n")
    written(tmp_path, "w1", ("attempt.ok", "a"))

    assert EndedAttempts(RunDirectory(tmp_path), Policy(attempts_max=2)).read() == (("a",), ())


def test_a_line_without_end_is_not_read_whole_and_a_pipe_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "history.w1.17.jsonl").write_bytes(b"x" * (2 * LINE_BYTES_MAX))
    os.mkfifo(tmp_path / "history.w2.17.jsonl")

    assert EndedAttempts(RunDirectory(tmp_path), Policy(attempts_max=2)).read() == ((), ())
