"""Scenarios whose faults strike a load early, so that much of it is still to come, on a slow machine, too."""

from chaos.faults import KillService, PauseProcess
from scenarios.experiment.scenario import Effects, Scenario, Strike, Workload
from scenarios.judging.guarantees import Guarantee

FROZEN_S = 3.0
WORKLOAD = Workload(tasks=100, rate_per_s=20)

api_frozen = Scenario(
    name="api_frozen",
    story="The API stands still for some seconds, its connections open, and goes on.",
    workload=WORKLOAD,
    strikes=(Strike(PauseProcess("api"), when=Effects(10), lasts_s=FROZEN_S),),
    at_stake=(Guarantee.NO_LOST_TASK,),
)

broker_killed_early = Scenario(
    name="broker_killed_early",
    story="RabbitMQ is killed when most of the tasks have not been submitted yet, and started again.",
    workload=WORKLOAD,
    strikes=(Strike(KillService("rabbitmq"), when=Effects(15), lasts_s=1.0),),
    at_stake=(Guarantee.NO_STUCK_TASK,),
)
