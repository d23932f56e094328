"""The way from a worker to the database is slow."""

from chaos.faults import DegradeNetwork
from scenarios.experiment.scenario import Between, Effects, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="database_slow",
    story=(
        "Every message between a worker and the database takes longer for a while. "
        "Leases and timeouts that are too short expire; no task may be lost or done twice because of that."
    ),
    workload=Workload(tasks=60, rate_per_s=20, work_s=Between(0.01, 0.05), failing_once=8),
    strikes=(
        Strike(
            DegradeNetwork("worker", "database", "delay", 50.0),
            when=Effects(count=Between(10, 25)),
            lasts_s=Between(1.0, 3.0),
            drawn={"value": Between(50.0, 150.0)},
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
