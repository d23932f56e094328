"""A worker cannot reach the broker for a while, and its connections stay open."""

from chaos.faults import DegradeNetwork
from scenarios.experiment.scenario import Between, Effects, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="broker_unreachable",
    story=(
        "For a while no message passes between a worker and the broker, and its connections stay open. "
        "The worker must not wait forever; what it had in hand must be done once, and it must take further tasks afterwards."
    ),
    workload=Workload(tasks=80, rate_per_s=20, work_s=Between(0.01, 0.05), failing_once=8),
    strikes=(
        Strike(
            DegradeNetwork("worker", "broker", "blackhole"),
            when=Effects(count=Between(15, 30)),
            lasts_s=Between(1.0, 3.0),
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
