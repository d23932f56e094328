"""An acknowledgement is lost on its way to the broker."""

from chaos.faults import SwallowAck
from scenarios.experiment.scenario import AckOfKnownTask, AtStart, Between, Scenario, Strike, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="ack_lost",
    story=(
        "One acknowledgement of a worker never reaches RabbitMQ, and the worker's connection is cut. "
        "The message is redelivered although its work is done: it must not be done twice."
    ),
    workload=Workload(tasks=80, rate_per_s=40, work_s=Between(0.01, 0.05)),
    strikes=(Strike(SwallowAck("worker", nth=1), when=AtStart(), drawn={"nth": Between(5, 25)}),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
    ),
    premises=(AckOfKnownTask(),),
)
