"""What the reference answers to cancellations and redrives, held against its audit trail: wrong answers are seen."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from reference_impl.components import Components
from reference_impl.http.service import Api
from reference_impl.rows.cancellation import Cancelled
from reference_impl.task import Task
from scenarios.judging.verdict import EXIT_HELD
from scenarios.simulated.run import Simulated, simulate
from scenarios.simulated.system import Sizes
from scenarios.simulated.worlds import swarm
from scenarios.simulated.worlds.plan import PlannedTask, WorldPlan
from scenarios.systems.reference.simulated import ReferenceSimulation

REFERENCE = ReferenceSimulation()
SMALL = Sizes(workers=1, slots=1, rescuers=1)


def answering(change: Callable[[Cancelled], Cancelled], *, redrives: bool = True) -> ReferenceSimulation:
    """The reference with other answers than its own; it does what it does."""

    class Liar(Api):
        __slots__ = ()

        def cancel(self, task_id: str) -> tuple[Cancelled, Task | None]:
            answer, task = Api.cancel(self, task_id)
            return change(answer), task

        def redrive(self, letter_id: int) -> bool:
            return Api.redrive(self, letter_id) and redrives

    def patched(components: Components) -> Components:
        return replace(components, classes=replace(components.classes, api=Liar))

    return replace(REFERENCE, patch=patched)


def cancelled(cancel_s: float, **payload: object) -> WorldPlan:
    task = PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 0.0, **payload}, tries=10, cancel_s=cancel_s)
    return WorldPlan("swarm", 1, (task, replaced(task, "task-2")), SMALL)


def replaced(task: PlannedTask, name: str) -> PlannedTask:
    return PlannedTask(task.at_s, name, {"task": name, "work_s": 0.0}, tries=10)


def wrong(world: Simulated) -> list[str]:
    assert (world.judgement.exit_code != EXIT_HELD) == bool(world.judgement.problems)
    return list(world.judgement.problems)


AT_ONCE = cancelled(0.0, work_s=0.3)
RUNNING = cancelled(0.3, work_s=0.8)
ENDED = cancelled(0.6)
RETRYING = cancelled(0.25, outcomes=["transient"] * 2)


@pytest.mark.parametrize("plan", [AT_ONCE, RUNNING, ENDED, RETRYING])
def test_the_right_answers_are_not_wrong(plan: WorldPlan) -> None:
    world = simulate(plan, REFERENCE)

    assert (wrong(world), world.judgement.exit_code) == ([], EXIT_HELD)


@pytest.mark.parametrize(
    ("plan", "answer", "seen"),
    [
        (AT_ONCE, Cancelled.NOT_FOUND, "«404 no such task», although it exists"),
        (AT_ONCE, Cancelled.TOO_LATE, "although it was ACCEPTED, CANCELLED"),
        (AT_ONCE, Cancelled.ASKED, "although no attempt of it was left"),
        (RUNNING, Cancelled.DONE, "although it was RUNNING"),
        (ENDED, Cancelled.ASKED, "although no attempt of it was left: it was SUCCEEDED"),
        (ENDED, Cancelled.DONE, "although it was SUCCEEDED"),
        (RETRYING, Cancelled.ASKED, "although no attempt of it was left: it was CANCELLED, RETRYING"),
    ],
)
def test_a_wrong_answer_to_a_cancellation_is_seen(plan: WorldPlan, answer: Cancelled, seen: str) -> None:
    (problem,) = wrong(simulate(plan, answering(lambda _: answer)))

    assert seen in problem


def test_a_redrive_that_took_effect_and_is_refused_is_seen() -> None:
    payload = {"task": "task-1", "work_s": 0.0, "outcomes": ["transient"] * 5}
    plan = WorldPlan("swarm", 1, (PlannedTask(0.0, "task-1", payload, tries=10, redriven=True),), SMALL)

    assert wrong(simulate(plan, REFERENCE)) == []
    (problem,) = wrong(simulate(plan, answering(lambda answer: answer, redrives=False)))
    assert "although its letter was open" in problem


def test_the_swarm_cancels_tasks_that_have_failed() -> None:
    plans = [swarm.world_of(seed, REFERENCE.terms) for seed in range(1, 300)]
    endings = {
        task.payload["outcomes"][0]
        for plan in plans
        for task in plan.tasks
        if task.cancel_s is not None and "outcomes" in task.payload
    }

    assert endings.issuperset({"transient", "die"})
