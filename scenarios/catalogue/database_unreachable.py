"""A worker cannot reach the database for a while, and its connections stay open."""

from chaos.faults import DegradeNetwork
from scenarios.experiment.scenario import Between, Effects, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="database_unreachable",
    story=(
        "For a while no message passes between a worker and the database, and its connections stay open. "
        "The worker must not wait forever, nor continue as if it still held its task."
    ),
    workload=Workload(tasks=60, rate_per_s=20, work_s=Between(0.01, 0.05), failing_once=8),
    strikes=(
        Strike(
            DegradeNetwork("worker", "database", "blackhole"),
            when=Effects(count=Between(10, 25)),
            lasts_s=Between(1.0, 3.0),
        ),
    ),
    premises=(WorkDuring(DegradeNetwork.name),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.SINGLE_HOLDER,
        Guarantee.RECOVERS_IN_TIME,
    ),
)
