"""A scenario of the catalogue as a simulated world: the same plan as on real services."""

from chaos.simulation import SERVICES
from chaos.simulation.injectors import can
from scenarios.errors import NotApplicable
from scenarios.experiment import plan as nemesis
from scenarios.experiment.arrival import RedriveWhenDead
from scenarios.experiment.fitting import aimed, check_capabilities, parts_of
from scenarios.experiment.scenario import Scenario
from scenarios.simulated.system import Terms
from scenarios.simulated.worlds.plan import DelayPlan, PlannedTask, WorldPlan, planned

STRIKE_TIMEOUT_S = 10.0
"""How long after the last submission a strike may still wait for its trigger, as on real services."""
READ_EVERY_S = 0.1
ERRATIC = DelayPlan("erratic", slow_share=0.05, slow_s=0.05)


_PLANNED = frozenset({"submit", "status", "key", "cancel", "deadline", "redrive", "result", "children", "sentinels"})
"""What the plan of a world can hold: no due times, ordering keys, priorities, scopes, pauses and schedules."""


def capabilities_in(terms: Terms) -> frozenset[str]:
    """What such a system can do in a world."""
    return terms.capabilities & _PLANNED


def world_of(scenario: Scenario, seed: int, terms: Terms) -> WorldPlan:
    """The world of this scenario and seed: submissions, strikes and delays.

    Raises:
        NotApplicable: a fault of it has no target in any world, or the system lacks a capability that it needs.
    """
    check_capabilities(scenario, capabilities_in(terms))
    scenario = aimed(scenario, parts_of(frozenset(SERVICES)))
    for strike in scenario.strikes:
        if why := can(strike.fault):
            raise NotApplicable(why)
    plan = nemesis.plan(
        scenario,
        seed,
        policy=terms.policy,
        pace=terms.pace,
        capabilities=capabilities_in(terms),
    )
    redriven = {act.does.task for act in plan.acts if isinstance(act.does, RedriveWhenDead)}
    return WorldPlan(
        scenario=scenario.name,
        seed=seed,
        tasks=tuple(
            PlannedTask(
                arrival.at_s,
                arrival.submit.task,
                dict(arrival.submit.payload),
                user=arrival.submit.user,
                tries=arrival.tries,
                key=None if arrival.submit.key == arrival.submit.task else arrival.submit.key,
                twice=arrival.again > 0,
                cancel_s=arrival.cancel_s,
                deadline_s=arrival.submit.deadline_s,
                redriven=arrival.submit.task in redriven,
            )
            for arrival in plan.arrivals
        ),
        strikes=tuple(map(planned, plan.strikes)),
        delays=ERRATIC,
        forgets_queues=terms.stands_forgotten_queues,
        read_every_s=READ_EVERY_S,
        must_bite=True,
        patience_s=STRIKE_TIMEOUT_S,
    )
