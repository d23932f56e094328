"""Scenarios that freeze the API while a load goes on: what a load generator that waits for answers does not notice."""

from chaos.faults import PauseProcess
from scenarios.guarantees import Guarantee
from scenarios.scenario import Effects, Scenario, Strike, Workload

FROZEN_S = 3.0

api_frozen = Scenario(
    name="api_frozen",
    story="The API stands still for some seconds, its connections open, and goes on.",
    workload=Workload(tasks=100, rate_per_s=20),
    strikes=(Strike(PauseProcess("api"), when=Effects(10), lasts_s=FROZEN_S),),
    at_stake=(Guarantee.NO_LOST_TASK,),
)
