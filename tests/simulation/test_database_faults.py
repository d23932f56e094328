"""A database that dies with the answer to a call, and transactions that are undone again and again."""

from dataclasses import replace

import pytest

from reference_impl.components import Components
from reference_impl.http.service import Api
from reference_impl.rows import cancellation
from reference_impl.rows.cancellation import Cancelled
from reference_impl.task import Task
from scenarios.judging.verdict import EXIT_HELD
from scenarios.simulated.run import Simulated, simulate
from scenarios.simulated.search.token import Token, read_token
from scenarios.simulated.worlds import swarm
from scenarios.simulated.worlds.plan import PlannedCallFault, PlannedTask, WorldPlan
from scenarios.systems.reference.simulated import ReferenceSimulation

REFERENCE = ReferenceSimulation()
OTHER = PlannedTask(0.0, "task-2", {"task": "task-2", "work_s": 0.0}, tries=10)
SUBMITTED = PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 0.0}, tries=1)
CANCELLED = PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 0.0}, tries=10, cancel_s=0.0)
COMMIT_OF_SUBMISSION, COMMIT_OF_CANCELLATION = 10, 6


def world_of(task: PlannedTask, *faults: PlannedCallFault, simulation: ReferenceSimulation = REFERENCE) -> Simulated:
    return simulate(WorldPlan("swarm", 1, (task, OTHER), call_faults=faults), simulation)


def killed(request: int, call: int, side: str) -> PlannedCallFault:
    return PlannedCallFault(f"api-1/client-task-1:{request}", call, "kill_database", side, 0.5)


def answers(world: Simulated, kind: str) -> list[str]:
    return [one.event for one in world.events if one.task == "task-1" and one.event.startswith(kind)]


@pytest.mark.parametrize(
    ("side", "answer", "done"), [("after", "submit.info", ("task-1", "task-2")), ("before", "submit.info", ("task-2",))]
)
def test_whether_a_commit_took_effect_with_which_the_database_died_is_left_open(
    side: str, answer: str, done: tuple[str, ...]
) -> None:
    world = world_of(SUBMITTED, killed(1, COMMIT_OF_SUBMISSION, side))

    assert answers(world, "submit.") == ["submit.invoke", answer]
    assert [event.done for event in world.events if event.event == "final"] == [done]
    assert [event.target for event in world.events if event.event == "fault.bit"] == ["mysql"]
    assert (world.missed, world.judgement.exit_code) == (0, EXIT_HELD)


def test_a_cancellation_that_took_effect_is_never_answered_as_one_that_did_not() -> None:
    for call in range(1, 12):
        world = world_of(CANCELLED, killed(2, call, "before"))

        assert (call, world.judgement.problems) == (call, ())


class LooksUpAfterwards(Api):
    """Reads the task in a transaction of its own after it has cancelled it."""

    __slots__ = ()

    def cancel(self, task_id: str) -> tuple[Cancelled, Task | None]:
        return cancellation.cancel(self.engine, task_id, actor=self.runtime.name), self.find(task_id)


def test_a_cancellation_whose_answer_denies_it_is_seen() -> None:
    def patched(components: Components) -> Components:
        return replace(components, classes=replace(components.classes, api=LooksUpAfterwards))

    world = world_of(
        CANCELLED, killed(2, COMMIT_OF_CANCELLATION, "before"), simulation=replace(REFERENCE, patch=patched)
    )

    (problem,) = world.judgement.problems
    assert problem.endswith("although it took effect")


@pytest.mark.parametrize("code", [1205, 1213])
def test_a_transaction_that_is_undone_with_all_its_tries_is_a_definite_failure(code: int) -> None:
    run = [PlannedCallFault("api-1/client-task-1:1", call, "undo", code=code) for call in range(5, 14)]

    world = world_of(SUBMITTED, *run)

    assert answers(world, "submit.") == ["submit.invoke", "submit.fail"]
    assert (world.judgement.problems, world.judgement.exit_code) == ((), EXIT_HELD)


def test_the_swarm_draws_both_and_a_token_carries_them() -> None:
    plans = [swarm.world_of(seed, REFERENCE.terms) for seed in range(1, 150)]
    dying = next(plan for plan in plans if any(fault.kind == "kill_database" for fault in plan.call_faults))

    assert any(sum(fault.kind == "undo" for fault in plan.call_faults) >= 7 for plan in plans)
    assert read_token(str(Token("swarm", "reference", 1, dying))).plan == dying
