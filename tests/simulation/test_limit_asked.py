"""A new task is counted against its user's limit before it is created."""

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from reference_impl.components import Components
from reference_impl.http.service import Api
from reference_impl.rows.submission import Submission, Submitted
from scenarios.judging.verdict import EXIT_HELD, EXIT_UNKNOWN
from scenarios.simulated.run import simulate
from scenarios.simulated.worlds.plan import PlannedTask, WorldPlan
from scenarios.systems.reference.simulated import ReferenceSimulation

REFERENCE = ReferenceSimulation()
PLAN = WorldPlan("swarm", 1, (PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 0.0}, twice=True),))


class Unlimited(Api):
    """Admits everybody."""

    __slots__ = ()

    def find_or_create(self, submission: Submission, admit: Callable[[], None]) -> Submitted:
        return Api.find_or_create(self, submission, lambda: None)


def test_a_task_that_is_created_without_asking_the_limit_is_seen() -> None:
    def patched(components: Components) -> Components:
        return replace(components, classes=replace(components.classes, api=Unlimited))

    world = simulate(PLAN, replace(REFERENCE, patch=patched))

    assert world.judgement.exit_code == EXIT_UNKNOWN
    assert any("without asking the limit of new tasks" in problem for problem in world.judgement.problems)


def test_whoever_asks_is_not_seen_and_the_limit_is_asked_also_where_the_cache_is_off() -> None:
    for net in ("", "cache"):
        world = simulate(changed(PLAN, without=net), REFERENCE)

        assert (world.judgement.problems, world.judgement.exit_code) == ((), EXIT_HELD)
