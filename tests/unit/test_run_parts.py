"""The parts that a run shares with a load test: what became of submissions, last reads, moments of strikes, the drain."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios import status_reader
from scenarios.drain import drain
from scenarios.outside import OutsideServer, Request, Tally
from scenarios.rundir import read_files
from scenarios.status_reader import StatusReader
from scenarios.submissions import Submissions
from scenarios.system import Account, Operation, Outcome, ReadStatus, Submit
from tasklab.tasklab_probe import Recorder

FAR_AWAY_S = float("inf")


class Script:
    """A client that answers from a list, and notes what it was asked."""

    def __init__(self, *answers: Outcome) -> None:
        self.answers = list(answers)
        self.asked: list[Operation] = []

    def invoke(self, operation: Operation) -> Outcome:
        self.asked.append(operation)
        return self.answers.pop(0) if self.answers else Outcome("ok", state="SUCCEEDED")

    def close(self) -> None:
        self.asked.append(Submit("closed", {}))


def recorder_in(place: Path, name: str = "client") -> Recorder:
    return Recorder(str(place / f"history.{name}.jsonl"), name, 0)


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[OutsideServer]:
    server = OutsideServer(recorder_in(tmp_path, "outside"))
    server.start()
    yield server
    server.stop()


def test_submissions_know_the_latest_outcome_and_the_id_of_every_task(tmp_path: Path) -> None:
    submissions = Submissions(recorder_in(tmp_path))
    client = Script(Outcome("info", detail="timed out"), Outcome("ok", id="17"))

    submissions.submit(client, Submit("a", {"task": "a"}, key="a"), "client-1")
    between = (submissions.outcomes, submissions.last_detail)
    submissions.submit(client, Submit("a", {"task": "a"}, key="a"), "client-1")

    assert between == ({"a": "info"}, "timed out")
    assert (submissions.outcomes, submissions.ids) == ({"a": "ok"}, {"a": "17"})
    events = read_files([tmp_path / "history.client.jsonl"]).history.events
    assert [event.event for event in events] == ["submit.invoke", "submit.info", "submit.invoke", "submit.ok"]


@pytest.mark.parametrize(
    ("answered", "read"),
    [
        (3, ["t0", "t1", "t2"]),
        (4, ["t0", "t1", "t2", "t3"]),
        (9, ["t0", "t3", "t6"]),
    ],
)
def test_of_many_tasks_the_last_look_takes_an_even_sample(
    answered: int, read: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_reader, "LAST_READS_MAX", 4)
    recorder = recorder_in(tmp_path)
    submissions = Submissions(recorder)
    for number in range(answered):
        submissions.note(f"t{number}", Outcome("ok", id=str(number)))
    client = Script()

    StatusReader(lambda: client, submissions, recorder).read_last(FAR_AWAY_S)

    assert [asked.task for asked in client.asked if isinstance(asked, ReadStatus)] == read
    events = read_files([tmp_path / "history.client.jsonl"]).history.events
    assert [(event.task, event.state, event.asked_ns is not None) for event in events] == [
        (task, "SUCCEEDED", True) for task in read
    ]


def effect(task: str, *, step: int = 1, key: str | None = None) -> Request:
    return Request(op="effect", actor="worker-1", task=task, step=step, key=key)


def attempt(task: str) -> Request:
    return Request(op="arrive", actor="worker-1", point="attempt", subject=task)


def test_the_outside_tells_duplicates_from_refused_effects_other_steps_and_repeated_attempts(
    outside: OutsideServer,
) -> None:
    for request in (
        *(attempt("a"), effect("a", key="a:1"), attempt("a"), effect("a", key="a:1")),  # again, and refused
        *(effect("b"), effect("b", step=2)),  # two steps
        *(effect("c"), effect("c"), effect("c")),  # without a key: accepted three times
    ):
        outside.answer(request)

    assert outside.tally() == Tally(effects=6, duplicates=2, repeats=1)


def test_a_gate_counts_from_when_it_was_armed(outside: OutsideServer) -> None:
    outside.answer(attempt("before"))
    gate = outside.arm("attempt", nth=2)
    gate.release()  # it lets its process go on at once

    outside.answer(attempt("first"))
    reached_too_early = gate.await_reached(0)
    outside.answer(attempt("second"))

    assert not reached_too_early
    assert gate.await_reached(0)
    assert gate.subject == "second"


def test_the_drain_ends_when_every_acknowledged_task_has_ended(outside: OutsideServer) -> None:
    accounts = [Account(done=(), pending=("a",)), Account(done=("a",), pending=())]

    drained = drain(
        lambda: accounts.pop(0) if len(accounts) > 1 else accounts[0],
        outside,
        {"a": "ok", "b": "fail", "c": "info"},
        quiet_s=60.0,
        budget_s=60.0,
    )

    assert (drained.caught_up, drained.how) == (True, "every acknowledged task has ended")
    assert drained.account.done == ("a",)
