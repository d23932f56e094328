"""In the simulated world the reference keeps its promises after every step, whatever is done to it, and once all is calm."""

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import invariant, rule, run_state_machine_as_test
from hypothesis.strategies import sampled_from

from scenarios.judging.judge import Judgement
from scenarios.judging.verdict import Ruling
from scenarios.systems.mutant import find_mutant
from scenarios.systems.reference.simulated import ReferenceSimulation
from tests.stateful.machine import TaskSystemMachine, a_moment, any_number
from tests.stateful.simulated_world import SimulatedWorld

PROCESSES = ("worker-1", "worker-2", "relay-1", "rescuer-1", "rescuer-2", "api-1")
SEED = 1
"""Of what the network and a killed process's names draw; the steps are Hypothesis's."""


class SimulatedReference(TaskSystemMachine):
    """Every rule of the machine, and clocks that are set."""

    CRASHABLE = PROCESSES
    CUTTABLE = tuple((process, service) for process in PROCESSES for service in ("rabbitmq", "mysql", "redis"))

    def open_world(self) -> SimulatedWorld:
        return SimulatedWorld(ReferenceSimulation(), SEED)

    @rule(number=any_number, seconds=sampled_from((-600.0, -1.0, 1.0, 600.0)), then_s=a_moment)
    def skew(self, number: int, seconds: float, then_s: float) -> None:
        self.world.step_clock(PROCESSES[number % len(PROCESSES)], seconds)
        self.world.pass_time(then_s)

    @invariant()
    def no_promise_is_broken(self) -> None:
        if hasattr(self, "world"):
            assert broken(self.world.judgement()) == {}

    def judge(self) -> None:
        world = self.world.finish()

        assert world.problems == []
        assert broken(world.judgement) == {}
        assert unsure(world.judgement) == {}


def broken(judgement: Judgement) -> dict[str, str]:
    return {one.guarantee.value: one.reason for one in judgement.verdicts if one.ruling is Ruling.BROKEN}


def unsure(judgement: Judgement) -> dict[str, str]:
    return {one.guarantee.value: one.reason for one in judgement.verdicts if one.ruling is Ruling.UNKNOWN}


SETTINGS = settings(max_examples=60, stateful_step_count=25, deadline=None, derandomize=True, database=None)
SimulatedReference.TestCase.settings = SETTINGS
TestSimulatedReference = SimulatedReference.TestCase


@pytest.mark.parametrize("name", ["claim_without_lease", "lock_released_by_anybody"])
def test_the_same_steps_break_a_promise_where_a_defect_is_planted(name: str) -> None:
    mutant = find_mutant(name)

    class Mutated(SimulatedReference):
        def open_world(self) -> SimulatedWorld:
            return SimulatedWorld(mutant.simulation(), SEED)

    with pytest.raises(AssertionError, match="|".join(promise.value for promise in mutant.expected)):
        run_state_machine_as_test(Mutated, settings=settings(SETTINGS, phases=[Phase.generate]))


def test_a_task_that_died_is_redriven_with_a_new_budget_and_the_history_says_so() -> None:
    world = SimulatedWorld(ReferenceSimulation(), SEED)
    tries = ReferenceSimulation().terms.policy.attempts_max
    world.submit("task-1", {"task": "task-1", "outcomes": ["transient"] * tries})
    world.pass_time(10.0)

    world.redrive()
    ended = world.finish()

    times = [event.t_ns for event in ended.events if event.actor == "database"]
    told = [(event.event, event.reason) for event in ended.events if event.event in ("dead", "redrive")]
    assert times == sorted(times)
    assert told == [("dead", "exhausted"), ("redrive", None)]
    assert ended.judgement.reconciliation.counts["done"] == 1
    assert (broken(ended.judgement), unsure(ended.judgement)) == ({}, {})
