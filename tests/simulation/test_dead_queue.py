"""The queue of dead letters holds a message for each letter, and none for a task without one."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from reference_impl.loops.worker import Worker
from reference_impl.ports import Consumer, Delivery
from scenarios.judging.verdict import EXIT_HELD
from scenarios.simulated.run import simulate
from scenarios.simulated.system import Sizes
from scenarios.simulated.worlds.plan import PlannedStray, PlannedTask, WorldPlan
from scenarios.systems.mutant import with_classes
from scenarios.systems.reference.simulated import ReferenceSimulation

REFERENCE = ReferenceSimulation()
DOOMED = PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 0.0, "outcomes": ["transient"] * 9}, tries=10)
DONE = PlannedTask(0.0, "task-2", {"task": "task-2", "work_s": 0.0}, tries=10)
PLAN = WorldPlan("swarm", 1, (DOOMED, DONE), Sizes(workers=1, slots=1), strays=(PlannedStray(0.05, "not JSON"),))


def test_a_message_for_each_letter_and_a_foreign_one_are_in_order() -> None:
    world = simulate(PLAN, REFERENCE)

    assert (world.missed, world.judgement.problems, world.judgement.exit_code) == (0, (), EXIT_HELD)


def test_a_letter_without_a_message_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference_impl.rows.dead_letter.outbox", SimpleNamespace(put=lambda *_, **__: None))

    assert simulate(PLAN, REFERENCE).judgement.problems == ("the dead letter of task-1 has no message",)


class PutsAside(Worker):
    """Dead-letters what it has done."""

    __slots__ = ()

    def handle_delivery(self, consumer: Consumer, delivery: Delivery) -> None:
        claim = self.claim_task(json.loads(delivery.body)["task_id"])
        if claim is not None:
            self._run(claim)
        consumer.reject(delivery, requeue=False)


def test_a_message_of_a_task_that_is_not_dead_is_seen() -> None:
    plan = WorldPlan("swarm", 1, (DOOMED, DONE))

    world = simulate(plan, replace(REFERENCE, patch=with_classes(worker=PutsAside)))

    seen = "a message of task-2 is among the dead letters, and the task has no letter"
    assert seen in world.judgement.problems
