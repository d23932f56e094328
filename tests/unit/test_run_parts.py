"""The parts of a run: what became of submissions, last reads, moments of strikes, the drain, acks that were swallowed, plug-ins."""

from collections.abc import Iterator
from itertools import chain, count, repeat
from pathlib import Path

import pytest

from scenarios.contract.guard import GuardedClient
from scenarios.contract.system import Account, Operation, Outcome, ReadStatus, Submit
from scenarios.contract.tasklab_probe import Recorder
from scenarios.errors import RunFailed
from scenarios.experiment import status_reader
from scenarios.experiment.drain import Drained, drain
from scenarios.experiment.outside import OutsideServer, Request, Tally
from scenarios.experiment.status_reader import StatusReader
from scenarios.experiment.submissions import Submissions
from scenarios.experiment.trail import write_lost_acks
from scenarios.record.run_facts import FaultRecord
from scenarios.stored.reading import read_files
from scenarios.stored.rundir import RunDirectory

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


def test_only_what_was_acknowledged_counts_as_acknowledged() -> None:
    submissions = Submissions(None)  # type: ignore[arg-type]

    for task, kind in (("a", "ok"), ("b", "info"), ("c", "fail"), ("b", "ok")):
        submissions.note(task, Outcome(kind))  # type: ignore[arg-type]

    assert submissions.acknowledged == 2


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s = round(self.now_s + seconds, 6)


class Resource:
    """An outside resource to which nothing has come for a long time, or just now."""

    def __init__(self, quiet_s: float) -> None:
        self._quiet_s = quiet_s

    def quiet_s(self) -> float:
        return self._quiet_s


def drain_by(accounts: Iterator[Account], *, quiet_s: float = 1e9) -> Drained:
    outcomes = {"a": "ok", "b": "fail", "c": "info"}
    return drain(lambda: next(accounts), Resource(quiet_s), outcomes, quiet_s=5.0, budget_s=20.0)  # type: ignore[arg-type]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("scenarios.experiment.drain.time", clock)
    return clock


PENDING, ENDED = Account(done=(), pending=("a",)), Account(done=("a",), pending=())


def test_the_drain_ends_when_every_acknowledged_task_has_ended_and_stays_so(clock: Clock) -> None:
    drained = drain_by(chain([PENDING, ENDED, PENDING], repeat(ENDED)))

    assert (drained.caught_up, drained.how) == (True, "every acknowledged task has ended")
    assert drained.took_s == 0.6  # three looks until it ended for good, three more to be sure


def test_the_drain_ends_when_nothing_has_moved_for_longer_than_the_system_ever_rests(clock: Clock) -> None:
    drained = drain_by(repeat(PENDING))

    assert (drained.account, drained.caught_up, drained.how) == (PENDING, True, "nothing has moved for 5 s")


def test_a_drain_in_which_things_still_move_at_the_end_of_the_budget_says_nothing(clock: Clock) -> None:
    by_effects = drain_by(repeat(PENDING), quiet_s=0.0)
    by_account = drain_by(Account(done=(f"x{n}",), pending=("a",)) for n in count())

    assert [(drained.caught_up, drained.how) for drained in (by_effects, by_account)] == [
        (False, "still moving after 25 s")
    ] * 2


def test_a_task_that_is_still_pending_is_waited_for_whoever_it_was_refused_to(clock: Clock) -> None:
    drained = drain_by(repeat(Account(done=("a",), pending=("b",))))

    assert drained.how == "nothing has moved for 5 s"


def swallowed(evidence: str, *, bit_ns: int | None = 7, fault: str = "ack_swallowed") -> FaultRecord:
    return FaultRecord(fault=fault, target="worker-1", when="", bit_ns=bit_ns, evidence=evidence)


def test_a_swallowed_ack_is_told_of_the_task_whose_id_was_in_the_message(tmp_path: Path) -> None:
    strikes = [
        swallowed('ack 3, of {"task_id": "id-2"}'),
        swallowed('{"task_id": "id-1"}', bit_ns=None),
        swallowed('{"task_id": "id-1"}', fault="confirm_withheld"),
        swallowed('{"task_id": "id-1"}', bit_ns=5),  # planned later, struck earlier
    ]

    write_lost_acks(strikes, {"task-1": "id-1", "task-2": "id-2"}, RunDirectory(tmp_path), t0_ns=0)

    events = read_files([tmp_path / "history.broker.jsonl"]).history.events
    assert [(event.event, event.actor, event.t_ns, event.task) for event in events] == [
        ("ack.info", "broker", 5, "task-1"),
        ("ack.info", "broker", 7, "task-2"),
    ]


def test_without_a_swallowed_ack_the_broker_has_no_history(tmp_path: Path) -> None:
    write_lost_acks([], {"task-1": "id-1"}, RunDirectory(tmp_path), t0_ns=0)

    assert list(tmp_path.iterdir()) == []


class Raising:
    """A plug-in's client that maps nothing."""

    def invoke(self, operation: Operation) -> Outcome:
        raise TimeoutError("x" * 500)

    def close(self) -> None:
        raise OSError("gone")


def test_what_a_client_raises_may_have_happened() -> None:
    outcome = GuardedClient(Raising()).invoke(Submit("a", {}))

    assert (outcome.kind, len(outcome.detail or "")) == ("info", 200)
    assert (outcome.detail or "").startswith("the client raised TimeoutError('xxx")


def test_what_a_client_answers_is_its_answer() -> None:
    assert GuardedClient(Script(Outcome("fail", detail="full"))).invoke(Submit("a", {})) == Outcome(
        "fail", detail="full"
    )


def test_a_client_that_cannot_be_closed_makes_the_run_unknown() -> None:
    with pytest.raises(RunFailed, match=r"a client failed in close\(\): OSError\('gone'\)"):
        GuardedClient(Raising()).close()
