"""What the reference documents of its rows is held against every world: numbers of attempts, delays of retries, claims that start."""

import msgspec
import pytest

from reference_impl.attempt import Attempt
from reference_impl.loops import rescuer, worker
from reference_impl.retry import RetryPolicy
from reference_impl.rows import store
from reference_impl.rows.schema import tasks
from reference_impl.rows.submission import Draft, Submitted
from reference_impl.rows.transitions import transition
from reference_impl.task import Claim, Task, TaskState
from scenarios.judging.verdict import EXIT_UNKNOWN
from scenarios.simulated.run import simulate
from scenarios.simulated.system import Sizes
from scenarios.simulated.worlds.plan import PlannedCallFault, PlannedStrike, PlannedTask, WorldPlan
from scenarios.systems.reference.probe import LeaseRecorder
from scenarios.systems.reference.simulated import ReferenceSimulation

REFERENCE = ReferenceSimulation()
SMALL = Sizes(workers=1, slots=1, rescuers=1)


def task(name: str = "task-1", **payload: object) -> PlannedTask:
    return PlannedTask(0.0, name, {"task": name, "work_s": 0.02, **payload}, tries=10)


def problems(*planned: PlannedTask) -> list[str]:
    world = simulate(WorldPlan("swarm", 1, planned, SMALL), REFERENCE)
    assert (world.judgement.exit_code == EXIT_UNKNOWN) is bool(world.judgement.problems)
    return list(world.judgement.problems)


TWICE = task(outcomes=["transient"] * 2)


def test_the_reference_contradicts_nothing_that_it_documents() -> None:
    assert problems(TWICE, task("task-2")) == []


def test_an_attempt_without_its_number_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Attempt, "number", None)

    assert problems(task()) == ["worker-1 started task-1 as attempt None, which it had not claimed"]


def test_attempts_that_are_not_numbered_in_turn_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    by_two = transition(TaskState.ACCEPTED, TaskState.RUNNING, **{**store._CLAIMED, "attempt": tasks.c.attempt + 2})
    monkeypatch.setattr(store, "_CLAIM_ACCEPTED", by_two)

    assert problems(task()) == ["the attempts at task-1 are numbered [2]"]


def test_a_retry_that_waits_too_long_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryPolicy, "bounds_s", lambda *_: (0.7, 0.7))

    assert problems(TWICE) == [f"retry {number} of task-1 waits 0.7 s in the outbox" for number in (1, 2)]


def test_retries_that_are_not_spread_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryPolicy, "bounds_s", lambda _, attempt: (0.2 * attempt, 0.2 * attempt))

    assert problems(TWICE) == ["the delays of 2 retries have no jitter"]


def test_a_claim_that_nobody_uses_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    claim_task = worker.claim_task

    def drop_first(*args: object, **options: object) -> Claim | None:
        claim = claim_task(*args, **options)  # type: ignore[arg-type]
        return None if claim is None or claim.attempt == 1 else claim

    monkeypatch.setattr(worker, "claim_task", drop_first)

    (problem,) = problems(task())
    assert problem.endswith("and did not start it")


def test_an_effect_without_the_fence_of_a_claim_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Attempt, "fence", None)

    assert problems(task()) == ["an effect of task-1 has the fence None, which no claim of it has"]


def test_a_task_that_is_buried_early_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "has_used_up", lambda *_: True)

    world = simulate(WorldPlan("swarm", 1, (task(outcomes=["transient"]),), SMALL), REFERENCE)

    assert "task-1 is dead after 1 of 4 attempts" in world.judgement.problems


def test_a_leader_that_runs_no_job_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rescuer.Rescuer, "_run_jobs", lambda *_: None)

    assert {one.partition(" led from ")[0] for one in problems(task(work_s=2.0))} == {"rescuer-1"}


def test_an_attempt_whose_acknowledgement_the_observer_is_not_told_of_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaseRecorder, "acknowledging", lambda *_: None)
    later = PlannedTask(4.0, "task-2", {"task": "task-2"})

    assert problems(task(), later)[0] == "attempt 1 at task-1 was not acknowledged"


def test_answers_of_another_task_and_of_a_new_one_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    other = PlannedTask(1.0, "task-2", {"task": "task-2"}, key="task-1", tries=1)
    monkeypatch.setattr(Draft, "submitted_as", lambda draft, known: Submitted(known, known.id == draft.row.id))

    assert problems(task(), other)[0] == "task-2 was answered with the id of task-1"


CANCELLED = PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 4.0, "stops": True}, tries=10, cancel_s=1.0)
EXPIRED = PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 4.0, "stops": True}, tries=10, deadline_s=1.0)
UNTOLD = ["attempt 1 at task-1 was not told to stop"]


@pytest.mark.parametrize(("planned", "ended"), [(CANCELLED, "cancelled"), (EXPIRED, "expired")])
def test_a_handler_that_asks_is_told_to_stop(planned: PlannedTask, ended: str) -> None:
    world = simulate(WorldPlan("swarm", 1, (planned,), SMALL), REFERENCE)

    (end,) = (event for event in world.events if event.event == "attempt.fail")
    (final,) = (event for event in world.events if event.event == "final")
    assert (end.t_ns < 2e9, end.detail) == (True, "unknown failure of task task-1, told to stop")
    assert (getattr(final, ended), list(world.judgement.problems)) == (("task-1",), [])


@pytest.mark.parametrize("planned", [CANCELLED, EXPIRED])
def test_a_handler_that_is_never_told_to_stop_is_seen(planned: PlannedTask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Attempt, "should_stop", False)

    later = PlannedTask(4.0, "task-2", {"task": "task-2"})

    assert problems(planned, later) == UNTOLD


def test_a_handler_that_is_told_to_stop_for_no_reason_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Attempt, "should_stop", property(lambda attempt: attempt.number == 1))

    assert problems(task(stops=True)) == ["attempt 1 at task-1 was told to stop for no reason"]


def test_an_attempt_whose_worker_died_need_not_be_told() -> None:
    """Found by world swarm~reference~87011869."""
    killed = PlannedStrike("process_killed", {}, when="AttemptBegun", trigger={"nth": 1}, lasts_s=0.1)
    later = msgspec.structs.replace(CANCELLED, cancel_s=2.5)

    world = simulate(WorldPlan("swarm", 1, (later,), SMALL, strikes=(killed,)), REFERENCE)

    assert [event.attempt for event in world.events if event.event == "attempt.start"] == [1, 2]
    assert list(world.judgement.problems) == []


def test_an_attempt_need_not_be_told_of_a_cancellation_that_never_arrived() -> None:
    """Found by world swarm~reference~87047674."""
    killed = PlannedStrike("process_killed", {}, when="AttemptBegun", trigger={"nth": 1}, lasts_s=0.1)
    lost = PlannedCallFault("client-task-1", 2, "cut", "before", 0.0)
    early = msgspec.structs.replace(CANCELLED, cancel_s=0.2)

    world = simulate(WorldPlan("swarm", 1, (early,), SMALL, strikes=(killed,), call_faults=(lost,)), REFERENCE)

    assert [event.event for event in world.events if event.event.startswith("cancel.")] == [
        "cancel.invoke",
        "cancel.info",
    ]
    assert (world.missed, list(world.judgement.problems)) == (0, [])
