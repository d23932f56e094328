"""A key that is used twice: by two tasks of one user it is refused once, by two users never."""

from collections.abc import Callable
from dataclasses import replace

from reference_impl.components import Components
from reference_impl.errors import KeyConflict
from reference_impl.http.service import Api
from reference_impl.rows.submission import Submission, Submitted
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.verdict import EXIT_HELD, EXIT_UNKNOWN
from scenarios.simulated.run import Simulated, simulate
from scenarios.simulated.search.shrink import broken_promises
from scenarios.simulated.worlds import swarm
from scenarios.simulated.worlds.plan import PlannedTask, WorldPlan
from scenarios.systems.reference.simulated import ReferenceSimulation

REFERENCE = ReferenceSimulation()


def world_of(other_user: str, *, simulation: ReferenceSimulation = REFERENCE, tries: int = 3) -> Simulated:
    first = PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 0.0})
    other = PlannedTask(0.3, "other", {"task": "other", "work_s": 0.0}, user=other_user, tries=tries, key="task-1")
    return simulate(WorldPlan("swarm", 1, (first, other)), simulation)


def test_a_key_of_one_user_makes_one_task() -> None:
    world = world_of("user-1", tries=10)

    assert (broken_promises(world), world.judgement.exit_code) == ([], EXIT_HELD)
    assert [event.done for event in world.events if event.event == "final"] == [("task-1",)]


def test_a_key_of_two_users_makes_two_tasks() -> None:
    world = world_of("user-2")

    assert (broken_promises(world), world.judgement.exit_code) == ([], EXIT_HELD)
    assert [event.done for event in world.events if event.event == "final"] == [("other", "task-1")]


class AcceptsTwice(Api):
    """Knows no keys."""

    __slots__ = ()

    def find_or_create(self, submission: Submission, admit: Callable[[], None]) -> Submitted:
        return Api.find_or_create(self, replace(submission, key=str(submission.payload["task"])), admit)


class RefusesStrangers(Api):
    """Takes the key of another user for that of this one."""

    __slots__ = ()

    def find_or_create(self, submission: Submission, admit: Callable[[], None]) -> Submitted:
        if submission.user_id == "user-2":
            raise KeyConflict("an id")
        return Api.find_or_create(self, submission, admit)


def with_api(api: type[Api]) -> ReferenceSimulation:
    def patched(components: Components) -> Components:
        return replace(components, classes=replace(components.classes, api=api))

    return replace(REFERENCE, patch=patched)


def test_two_tasks_of_one_user_and_key_are_seen() -> None:
    world = world_of("user-1", simulation=with_api(AcceptsTwice))

    assert broken_promises(world) == [Guarantee.IDEMPOTENT_SUBMISSION]


def test_a_user_who_is_refused_for_the_key_of_another_is_seen() -> None:
    world = world_of("user-2", simulation=with_api(RefusesStrangers))

    assert world.judgement.exit_code == EXIT_UNKNOWN
    assert any("other was refused for its key" in problem for problem in world.judgement.problems)


def test_the_swarm_draws_both() -> None:
    plans = [swarm.world_of(seed, REFERENCE.terms) for seed in range(1, 200)]
    shared = [(plan.tasks[-1], plan) for plan in plans if plan.tasks[-1].key]

    assert {other.user.endswith("-too") for other, _ in shared} == {True, False}
    assert all(any(task.task == other.key for task in plan.tasks) for other, plan in shared)
