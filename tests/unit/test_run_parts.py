"""The parts of a run: what became of submissions, last reads, moments of strikes, the drain, acks that were swallowed, plug-ins."""

from collections.abc import Iterator
from itertools import chain, count, repeat
from types import SimpleNamespace

import pytest

from scenarios.contract.guard import GuardedClient
from scenarios.contract.system import Account, Operation, Outcome, ReadStatus, Submit
from scenarios.errors import RunFailed
from scenarios.experiment import status_reader
from scenarios.experiment.drain import Drained, drain
from scenarios.experiment.outside import Outside, OutsideCounts, Request
from scenarios.experiment.status_reader import StatusReader
from scenarios.experiment.submissions import Submissions
from scenarios.real.flows import ThreadSignal
from tests.thread_stage import Events, ThreadStage

FAR_AWAY_S = 3600.0


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


@pytest.fixture
def outside() -> Outside:
    return Outside(Events(), lambda: 0, ThreadSignal)


def submissions_in(events: Events) -> Submissions:
    return Submissions(events, lambda: 2_000_000_000, ThreadSignal())


def test_submissions_know_the_latest_outcome_and_the_id_of_every_task() -> None:
    events = Events()
    submissions = submissions_in(events)
    client = Script(Outcome("info", detail="timed out"), Outcome("ok", id="17"))

    submissions.submit(client, Submit("a", {"task": "a"}, key="a"), "client-1")
    between = (submissions.outcomes, submissions.last_detail)
    submissions.submit(client, Submit("a", {"task": "a"}, key="a"), "client-1")

    assert between == ({"a": "info"}, "timed out")
    assert (submissions.outcomes, submissions.ids) == ({"a": "ok"}, {"a": "17"})
    assert events.names == ["submit.invoke", "submit.info", "submit.invoke", "submit.ok"]


def test_a_task_that_was_acknowledged_once_stays_acknowledged() -> None:
    submissions = submissions_in(Events())

    for kind in ("ok", "info"):
        submissions.note("a", Outcome(kind))  # type: ignore[arg-type]

    assert submissions.outcomes == {"a": "ok"}


def test_a_deadline_counts_from_the_answer_and_a_refused_task_has_none() -> None:
    events = Events()
    submissions = submissions_in(events)
    client = Script(Outcome("fail"), Outcome("ok", id="17"))

    for _ in range(2):
        submissions.submit(client, Submit("a", {"task": "a"}, deadline_s=1.5), "client-1")

    assert [one.get("deadline_s") for one in events.recorded if one["event"] != "submit.invoke"] == [None, 3.5]


@pytest.mark.parametrize(
    ("answered", "read"),
    [
        (3, ["t0", "t1", "t2"]),
        (4, ["t0", "t1", "t2", "t3"]),
        (9, ["t0", "t3", "t6"]),
    ],
)
def test_of_many_tasks_the_last_look_takes_an_even_sample(
    answered: int, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_reader, "LAST_READS_MAX", 4)
    client = Script()
    stage = ThreadStage(make_client=lambda: client)
    submissions = stage.submissions
    for number in range(answered):
        submissions.note(f"t{number}", Outcome("ok", id=str(number)))

    StatusReader(stage, submissions, every_s=0.0).read_last(FAR_AWAY_S)  # type: ignore[arg-type]

    assert [asked.task for asked in client.asked if isinstance(asked, ReadStatus)] == read
    assert [(one["task"], one["state"], "asked_ns" in one) for one in stage.events.recorded] == [
        (task, "SUCCEEDED", True) for task in read
    ]


@pytest.mark.parametrize(("reads", "within_s", "read"), [(3, 60.0, 3), (10**6, 0.05, 1)], ids=["in the end", "never"])
def test_a_task_that_is_not_read_as_ended_is_read_until_it_is_or_is_late(
    reads: int, within_s: float, read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_reader, "LOOK_S", 0.06)
    answers = chain(repeat(Outcome("ok", state="RUNNING"), reads), repeat(Outcome("ok", state="SUCCEEDED")))
    stage = ThreadStage(make_client=lambda: SimpleNamespace(invoke=lambda _: next(answers), close=lambda: None))
    stage.submissions.note("slow", Outcome("ok", id="1"))
    reader = StatusReader(stage, stage.submissions, every_s=0.0)  # type: ignore[arg-type]

    assert reader.read_last(FAR_AWAY_S) == ["slow"]
    reader.read_until_ended(["slow"], within_s)

    assert len(stage.events.recorded) == 1 + read


def test_a_task_in_the_hands_of_a_struck_process_is_read_however_old_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    client, read = Script(), ThreadSignal()
    invoke = client.invoke
    monkeypatch.setattr(client, "invoke", lambda operation: (invoke(operation), read.notify())[0])
    stage = ThreadStage(make_client=lambda: client)
    for number in range(40):
        stage.submissions.note(f"t{number}", Outcome("ok", id=str(number)))
    reader = StatusReader(stage, stage.submissions, every_s=0.005, struck=lambda: ["t0", "a lock"])  # type: ignore[arg-type]

    reader.start()
    read.wait_until(lambda: len(client.asked) > 3, FAR_AWAY_S)
    reader.stop()

    assert "t0" in [one.task for one in client.asked if isinstance(one, ReadStatus)]


def test_the_status_tells_which_followed_tasks_have_ended_otherwise_than_done(monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"t0": "DEAD", "t1": "RUNNING", "t2": "SUCCEEDED"}
    client, read = Script(), ThreadSignal()

    def invoke(operation: Operation) -> Outcome:
        client.asked.append(operation)
        read.notify()
        assert isinstance(operation, ReadStatus)
        return Outcome("ok", state=states.get(operation.task, "RUNNING"))

    monkeypatch.setattr(client, "invoke", invoke)
    stage = ThreadStage(make_client=lambda: client)
    for number in range(40):
        stage.submissions.note(f"t{number}", Outcome("ok", id=str(number)))
    reader = StatusReader(stage, stage.submissions, every_s=0.005)  # type: ignore[arg-type]

    reader.follow(lambda: ["t0", "t1", "t2"])
    reader.start()
    read.wait_until(lambda: len(client.asked) > 8, FAR_AWAY_S)
    reader.stop()

    assert {"t0", "t1", "t2"} <= {one.task for one in client.asked if isinstance(one, ReadStatus)}
    assert reader.buried == {"t0"}


def effect(task: str, *, step: int = 1, key: str | None = None) -> Request:
    return Request(op="effect", actor="worker-1", task=task, step=step, key=key)


def attempt(task: str) -> Request:
    return Request(op="arrive", actor="worker-1", point="attempt", subject=task)


def test_the_outside_tells_duplicates_from_refused_effects_other_steps_and_repeated_attempts(
    outside: Outside,
) -> None:
    for request in (
        *(attempt("a"), effect("a", key="a:1"), attempt("a"), effect("a", key="a:1")),  # again, and refused
        *(effect("b"), effect("b", step=2)),  # two steps
        *(effect("c"), effect("c"), effect("c")),  # without a key: accepted three times
    ):
        outside.answer(request)

    assert outside.counts() == OutsideCounts(effects=6, duplicates=2, repeats=1)


def test_a_sync_point_counts_from_when_it_was_armed(outside: Outside) -> None:
    outside.answer(attempt("before"))
    point = outside.arm("attempt", nth=2)
    point.release()  # it lets its process go on at once

    outside.answer(attempt("first"))
    reached_too_early = point.is_reached
    outside.answer(attempt("second"))

    assert not reached_too_early
    assert point.is_reached
    assert point.subject == "second"


def test_only_what_was_acknowledged_counts_as_acknowledged() -> None:
    submissions = submissions_in(Events())

    for task, kind in (("a", "ok"), ("b", "info"), ("c", "fail"), ("b", "ok")):
        submissions.note(task, Outcome(kind))  # type: ignore[arg-type]

    assert submissions.acknowledged == 2


class Clock:
    """A stage on which only sleeping moves the clock."""

    def __init__(self) -> None:
        self._now_ns = 0

    def now_ns(self) -> int:
        return self._now_ns

    def sleep(self, seconds: float) -> None:
        self._now_ns += round(seconds * 1e9)


class Resource:
    """An outside resource to which nothing has come for a long time, or just now."""

    def __init__(self, quiet_s: float) -> None:
        self._quiet_s = quiet_s

    def quiet_s(self) -> float:
        return self._quiet_s


def drain_by(accounts: Iterator[Account], *, quiet_s: float = 1e9) -> Drained:
    outcomes = {"a": "ok", "b": "fail", "c": "info"}
    return drain(
        Clock(),  # type: ignore[arg-type]
        lambda: next(accounts),
        Resource(quiet_s),  # type: ignore[arg-type]
        lambda _: outcomes,
        quiet_s=5.0,
        budget_s=20.0,
    )


PENDING, ENDED = Account(done=(), pending=("a",)), Account(done=("a",), pending=())


def test_the_drain_ends_when_every_acknowledged_task_has_ended_and_stays_so() -> None:
    drained = drain_by(chain([PENDING, ENDED, PENDING], repeat(ENDED)))

    assert (drained.caught_up, drained.how) == (True, "every acknowledged task has ended")
    assert drained.took_s == 0.6  # three looks until it ended for good, three more to be sure


def test_the_drain_ends_when_nothing_has_moved_for_longer_than_the_system_ever_rests() -> None:
    drained = drain_by(repeat(PENDING))

    assert (drained.account, drained.caught_up, drained.how) == (PENDING, True, "nothing has moved for 5 s")


def test_a_drain_in_which_things_still_move_at_the_end_of_the_budget_says_nothing() -> None:
    by_effects = drain_by(repeat(PENDING), quiet_s=0.0)
    by_account = drain_by(Account(done=(f"x{n}",), pending=("a",)) for n in count())

    assert [(drained.caught_up, drained.how) for drained in (by_effects, by_account)] == [
        (False, "still moving after 25 s")
    ] * 2


def test_a_task_that_is_still_pending_is_waited_for_whoever_it_was_refused_to() -> None:
    drained = drain_by(repeat(Account(done=("a",), pending=("b",))))

    assert drained.how == "nothing has moved for 5 s"


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
