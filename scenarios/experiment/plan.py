"""Turns a scenario and a seed into a deterministic plan: what is submitted when, which fault strikes when."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

from scenarios.contract.capabilities import OWN_BODY
from scenarios.contract.system import Pace, Policy, Submit
from scenarios.experiment.arrival import TRIES_MAX as TRIES_MAX
from scenarios.experiment.arrival import Act as Act
from scenarios.experiment.arrival import Arrival as Arrival
from scenarios.experiment.arrival import Limits
from scenarios.experiment.ranges import Between, draw, draw_all, ranges_of
from scenarios.experiment.scenario import Outlasting, Scenario, Strike, Workload
from scenarios.judging.premise import UNSTATED_S

TASKS_PER_USER = 10
"""Well below any sensible rate limit per user: this workload must not reach one."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A scenario with all its ranges drawn by one seed."""

    scenario: Scenario
    seed: int
    arrivals: tuple[Arrival, ...]
    strikes: tuple[Strike, ...]
    acts: tuple[Act, ...] = ()


def plan(
    scenario: Scenario, seed: int, *, policy: Policy, pace: Pace, capabilities: frozenset[str] = frozenset()
) -> Plan:
    """The plan; the same for the same scenario, seed, stated limits and capabilities, on any machine."""
    limits = Limits(policy, pace, capabilities)
    workload, named = scenario.workload, f"{seed}/{scenario.name}"
    if OWN_BODY in capabilities:
        workload = replace(workload, failing_once=0, failing_always=0, failing_for_good=0)
    arrivals = _arrivals(workload, Random(f"{named}/workload"), attempts_max=limits.attempts_max)
    if OWN_BODY in capabilities:
        arrivals = tuple(replace(one, submit=of_own_body(one.submit)) for one in arrivals)
    for number, trait in enumerate(workload.traits):
        if limits.allow(trait.needs):
            arrivals = trait.given(arrivals, Random(f"{named}/trait-{number}"), limits)
    acts = [
        act
        for number, deed in enumerate(workload.deeds)
        if limits.allow(deed.needs)
        for act in deed.acts(arrivals, Random(f"{named}/deed-{number}"), limits)
    ]
    chance = Random(f"{seed}/{scenario.name}/faults")
    strikes = tuple(_concrete(strike, chance, pace) for strike in scenario.strikes)
    return Plan(scenario, seed, arrivals, strikes, tuple(sorted(acts, key=lambda act: act.at_s)))


def warm_up() -> Submit:
    """The task before the storm: it proves that a worker consumes."""
    task = "warm-up"
    return Submit(task, {"task": task, "work_s": 0.0}, user="warm-up", key=task)


def of_own_body(submit: Submit) -> Submit:
    """The submission of a task that runs its own code: how many effects it is to have is not known."""
    return replace(submit, payload={**submit.payload, "steps": None})


def deaths_of(arrivals: Iterable[Arrival]) -> dict[str, int]:
    """By task: how often it is to kill the process that runs it."""
    outcomes = {arrival.submit.task: arrival.submit.payload.get("outcomes") for arrival in arrivals}
    return {task: planned.count("die") for task, planned in outcomes.items() if isinstance(planned, list)}


def _arrivals(workload: Workload, chance: Random, *, attempts_max: int) -> tuple[Arrival, ...]:
    return tuple(
        Arrival(number / workload.rate_per_s, _submission(workload, number, chance, attempts_max))
        for number in range(workload.tasks)
    )


def _submission(workload: Workload, number: int, chance: Random, attempts_max: int) -> Submit:
    task = f"task-{number + 1:04d}"
    payload: dict[str, object] = {"task": task, "work_s": draw(workload.work_s, chance)}
    outcomes = _outcomes(workload, chance, attempts_max)
    if outcomes:
        payload["outcomes"] = outcomes
    return Submit(task, payload, user=f"user-{number // TASKS_PER_USER + 1}", key=task)


def _outcomes(workload: Workload, chance: Random, attempts_max: int) -> list[str]:
    """How the task's attempts end, in order; attempts beyond the list succeed."""
    roll = chance.randrange(100)
    if roll < workload.failing_once:
        return ["transient"]
    if roll < workload.failing_once + workload.failing_always:
        return ["transient"] * (attempts_max + 1)
    if roll < workload.failing_once + workload.failing_always + workload.failing_for_good:
        return ["permanent"]
    return []


def _concrete(strike: Strike, chance: Random, pace: Pace) -> Strike:
    fault = replace(strike.fault, **draw_all(strike.drawn, chance)) if strike.drawn else strike.fault
    when = replace(strike.when, **draw_all(ranges_of(strike.when), chance))
    lasts_s = strike.lasts_s
    if isinstance(lasts_s, Between):
        lasts_s = lasts_s.draw(chance)
    elif isinstance(lasts_s, Outlasting):
        stated_s = pace.lease_s if lasts_s.what == "lease" else pace.lock_s
        # A system that states neither gets a default: it has to tolerate a pause as well.
        lasts_s = round((stated_s or UNSTATED_S) * draw(lasts_s.times, chance), 3)
    return Strike(fault, when, lasts_s)
