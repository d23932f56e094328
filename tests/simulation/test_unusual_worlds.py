"""Work longer than a lease, messages that the system never sent, and tasks that kill their worker: worlds that put them to the test."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from reference_impl.fast.lock import HeldLock
from reference_impl.loops.rescuer import Rescuer
from reference_impl.loops.worker import Worker
from reference_impl.ports import Consumer, Delivery
from scenarios.errors import NotAToken
from scenarios.judging.guarantees import Guarantee
from scenarios.record.history import Event
from scenarios.simulated.run import Simulated, simulate
from scenarios.simulated.search.shrink import broken_promises
from scenarios.simulated.search.token import Token, read_token
from scenarios.simulated.system import Sizes
from scenarios.simulated.worlds import swarm
from scenarios.simulated.worlds.plan import PlannedLoss, PlannedStray, PlannedTask, WorldPlan
from scenarios.simulated.worlds.unusual import BODIES, FAR_DEADLINE_S, ONLY_SLOT
from scenarios.systems.mutant import with_classes
from scenarios.systems.reference.simulated import ReferenceSimulation

REFERENCE = ReferenceSimulation()
SMALL = Sizes(workers=1, slots=1, rescuers=1)


def task(name: str = "task-1", **payload: object) -> PlannedTask:
    return PlannedTask(0.0, name, {"task": name, "work_s": 0.02, **payload}, tries=10)


def exercised(world: Simulated, guarantee: Guarantee) -> bool:
    return next(verdict.exercised for verdict in world.judgement.verdicts if verdict.guarantee is guarantee)


def events(world: Simulated, kind: str) -> list[Event]:
    return [event for event in world.events if event.event == kind]


@pytest.mark.parametrize("body", BODIES)
def test_a_message_that_the_system_never_sent_is_put_aside_and_hinders_no_task(body: str) -> None:
    plan = WorldPlan("swarm", 1, (task(), task("task-2")), SMALL, strays=(PlannedStray(0.05, body),))

    world = simulate(plan, REFERENCE)

    assert (world.missed, list(world.gone), broken_promises(world)) == (0, [], [])
    assert events(world, "final")[0].done == ("task-1", "task-2")


class Trusting(Worker):
    """Takes every message for one of its own."""

    __slots__ = ()

    def handle_delivery(self, consumer: Consumer, delivery: Delivery) -> None:
        delivery.body.decode("ascii")
        Worker.handle_delivery(self, consumer, delivery)


def test_a_worker_that_stumbles_over_such_a_message_is_seen() -> None:
    plan = WorldPlan("swarm", 1, (task(),), SMALL, strays=(PlannedStray(0.05, "\xff\xfe"),))

    world = simulate(plan, replace(REFERENCE, patch=with_classes(worker=Trusting)))

    assert any("UnicodeDecodeError" in why for why in world.gone)
    assert world.judgement.exit_code == 3


def test_a_message_that_finds_no_consumer_is_counted_as_missed() -> None:
    plan = WorldPlan("swarm", 1, (task(),), Sizes(1, 1, 0, 1, 1), strays=(PlannedStray(0.0, "{}"),))

    assert simulate(plan, REFERENCE).missed == 1


def test_work_longer_than_a_lease_is_done_once_and_its_lease_renewed() -> None:
    world = simulate(WorldPlan("swarm", 1, (task(work_s=4.5),), SMALL), REFERENCE)

    assert exercised(world, Guarantee.LEASE_KEPT)
    assert broken_promises(world) == []
    assert len(events(world, "attempt.start")) == 1
    assert len([event for event in events(world, "lease.renewed") if event.resource == "task-1"]) > 10


def test_a_deadline_that_passes_while_its_task_works_ends_the_task_as_expired() -> None:
    late = PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 2.0}, tries=10, deadline_s=1.0)

    world = simulate(WorldPlan("swarm", 1, (late,), SMALL), REFERENCE)

    assert exercised(world, Guarantee.NOT_DONE_AFTER_DEADLINE)
    assert events(world, "final")[0].expired == ("task-1",)
    assert broken_promises(world) == []


def test_a_task_that_always_kills_its_worker_is_buried_with_one_letter() -> None:
    world = simulate(WorldPlan("swarm", 1, (task(outcomes=["die"] * 9), task("task-2")), SMALL), REFERENCE)

    assert [event.reason for event in events(world, "dead")] == ["poison"]
    assert (events(world, "final")[0].dead, events(world, "final")[0].done) == (("task-1",), ("task-2",))
    assert broken_promises(world) == []


def test_a_world_ends_only_when_the_outbox_is_empty_if_its_plan_says_so() -> None:
    plan = WorldPlan("swarm", 1, (task(outcomes=["transient"]),), SMALL, awaits_rest=True)

    world = simulate(plan, REFERENCE)

    assert (list(world.work_left), world.judgement.exit_code) == ([], 0)
    assert {step.what for step in world.trace.steps} >= {"delete outbox"}


class Hoarding(Rescuer):
    """Deletes no row."""

    __slots__ = ()

    def _purge(self, held: HeldLock) -> bool:
        return True


def test_a_system_that_never_comes_to_rest_is_seen() -> None:
    plan = WorldPlan("swarm", 1, (task(),), SMALL, awaits_rest=True)

    world = simulate(plan, replace(REFERENCE, patch=with_classes(rescuer=Hoarding)))

    assert list(world.work_left) == ["no rest: 1 rows of the outbox are SENT 25.5 s after the last task"]
    assert world.judgement.exit_code == 3


def test_more_lost_messages_than_a_sweep_repairs_at_once_are_sent_again() -> None:
    tasks = tuple(task(f"task-{number}") for number in range(1, 6))

    world = simulate(WorldPlan("swarm", 1, tasks, SMALL, loss=PlannedLoss(0.0, 1.0)), REFERENCE)

    assert broken_promises(world) == []
    assert len(events(world, "final")[0].done) == len(tasks)
    assert min(event.t_ns for event in events(world, "attempt.start")) > 4e9


def test_no_message_is_lost_where_nothing_sends_it_again() -> None:
    terms = REFERENCE.without("sweep").terms

    assert not any(swarm.world_of(seed, terms).loss for seed in range(1, 300))


def test_the_swarm_draws_each_of_them() -> None:
    plans = [swarm.world_of(seed, REFERENCE.terms) for seed in range(1, 1500)]

    assert {stray.body for plan in plans for stray in plan.strays} == set(BODIES)
    assert 0.07 < sum(plan.awaits_rest for plan in plans) / len(plans) < 0.15
    assert 0.02 < sum(plan.loss is not None for plan in plans) / len(plans) < 0.06
    assert any(one.payload["work_s"] > 4 for plan in plans for one in plan.tasks)
    assert any(one.payload.get("outcomes", [])[:1] == ["die"] for plan in plans for one in plan.tasks)


def test_the_swarm_draws_the_rarer_ones() -> None:
    plans = [swarm.world_of(seed, REFERENCE.terms) for seed in range(1, 1500)]
    tasks = [one for plan in plans for one in plan.tasks]
    stoppable = [one for one in tasks if one.payload.get("stops")]

    assert any(one.deadline_s == FAR_DEADLINE_S for one in tasks)
    assert {(one.cancel_s is None, one.deadline_s is None) for one in stoppable} == {
        (False, True),
        (True, False),
        (True, True),
    }


def first_world(draws: Callable[[WorldPlan], bool]) -> Simulated:
    plans = (swarm.world_of(seed, REFERENCE.terms) for seed in range(1, 1500))
    return simulate(next(plan for plan in plans if draws(plan) and plan.delays.kind == "steady"), REFERENCE)


def test_a_claim_whose_answer_comes_after_the_deadline_is_drawn_and_starts_nothing() -> None:
    world = first_world(lambda plan: any(one.fiber == ONLY_SLOT and one.lasts_s == 0.9 for one in plan.call_faults))

    first = world.plan.tasks[0].task
    claims = [event.t_ns for event in events(world, "state") if (event.task, event.to) == (first, "RUNNING")]
    (expired,) = (event.t_ns for event in events(world, "state") if (event.task, event.to) == (first, "EXPIRED"))
    assert len(claims) == 1 < expired
    assert [event for event in events(world, "attempt.start") if event.task == first] == []


def test_a_task_that_is_cancelled_while_its_worker_stands_still_is_drawn_and_the_answer_promises_nothing() -> None:
    world = first_world(lambda plan: len(plan.strikes) == 1 and (plan.strikes[0].lasts_s or 0.0) > 2.5)

    (answer,) = (
        event for event in world.events if event.event.startswith("cancel.") and event.event != "cancel.invoke"
    )
    assert answer.event == "cancel.info"
    assert [event.t_ns > answer.t_ns for event in events(world, "effect")] == [True]


def test_a_token_carries_strange_messages_and_refuses_letters_that_are_no_bytes() -> None:
    plan = WorldPlan("swarm", 1, (task(),), strays=(PlannedStray(0.5, "\xff"),))
    wrong = WorldPlan("swarm", 1, (task(),), strays=(PlannedStray(0.5, "→"),))

    assert read_token(str(Token("swarm", "reference", 1, plan))).plan == plan
    with pytest.raises(NotAToken, match="no byte"):
        read_token(str(Token("swarm", "reference", 1, wrong)))
