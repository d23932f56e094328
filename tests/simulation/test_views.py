"""What a reader sees of a task that has ended: no progress, and the result of a task that handed one back."""

from dataclasses import replace

from msgspec.structs import replace as changed

from reference_impl.components import Components
from reference_impl.http.models import TaskView
from reference_impl.http.service import Api
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.verdict import EXIT_HELD
from scenarios.simulated.run import Simulated, simulate
from scenarios.simulated.search.shrink import broken_promises
from scenarios.simulated.worlds import swarm
from scenarios.simulated.worlds.plan import PlannedTask, WorldPlan
from scenarios.systems.reference.simulated import ReferenceSimulation

REFERENCE = ReferenceSimulation()
PLAN = WorldPlan("swarm", 1, (PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 0.1, "result_size": 9}),))


def showing(**fields: object) -> ReferenceSimulation:
    """The reference, whose readers see these fields of every task."""

    class Shows(Api):
        __slots__ = ()

        def read(self, task_id: str) -> TaskView | None:
            view = Api.read(self, task_id)
            return None if view is None else view.model_copy(update=fields)

    def patched(components: Components) -> Components:
        return replace(components, classes=replace(components.classes, api=Shows))

    return replace(REFERENCE, patch=patched)


def held(world: Simulated) -> bool:
    return world.judgement.exit_code == EXIT_HELD


def test_the_result_of_a_task_is_read_and_judged() -> None:
    world = simulate(changed(PLAN, read_every_s=0.05), REFERENCE)

    assert held(world)
    assert next(one for one in world.judgement.verdicts if one.guarantee is Guarantee.RESULT_TRUTHFUL).exercised


def test_a_result_that_no_attempt_returned_is_a_broken_promise() -> None:
    assert broken_promises(simulate(PLAN, showing(result={"result": "another"}))) == [Guarantee.RESULT_TRUTHFUL]


def test_a_result_that_was_lost_is_seen() -> None:
    world = simulate(PLAN, showing(result=None))

    assert world.judgement.problems == ("task-1 was read as SUCCEEDED without its result",)
    assert not held(world)


def test_progress_after_the_end_is_seen() -> None:
    world = simulate(PLAN, showing(progress={"percent": "50"}))

    assert world.judgement.problems == ("task-1 was read as SUCCEEDED and 50 % done",)
    assert not held(world)


def test_the_swarm_draws_results() -> None:
    plans = [swarm.world_of(seed, REFERENCE.terms) for seed in range(1, 60)]

    assert {"result_size" in plan.tasks[0].payload for plan in plans} == {True, False}
