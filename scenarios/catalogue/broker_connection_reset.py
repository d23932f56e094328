"""Connections of a worker to the broker break, again and again."""

from chaos.faults import DegradeNetwork
from scenarios.experiment.scenario import Between, Effects, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="broker_connection_reset",
    story=(
        "For a while every answer of the broker to a worker is lost and its connection is reset. "
        "The worker must connect again, and its tasks in progress must be done once."
    ),
    workload=Workload(tasks=80, rate_per_s=30, work_s=Between(0.01, 0.05), failing_once=8),
    strikes=(
        Strike(
            DegradeNetwork("worker", "broker", "reset", 20.0),
            when=Effects(count=Between(15, 30)),
            lasts_s=Between(1.0, 2.5),
            drawn={"value": Between(0.0, 100.0)},
        ),
    ),
    premises=(WorkDuring(DegradeNetwork.name),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.RECOVERS_IN_TIME,
    ),
)
