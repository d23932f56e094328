"""The Redis primary dies, and the replica that takes over lacks its last writes."""

from chaos.faults import FailOverRedis
from scenarios.experiment.scenario import Between, Effects, ReportsProgress, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="redis_failover_behind",
    story=(
        "For a second nothing reaches the replica; then the primary is killed and the Sentinels promote the replica, without the writes "
        "that the primary has acknowledged meanwhile. What rests on them must not be lost or done twice."
    ),
    workload=Workload(tasks=100, rate_per_s=20, work_s=Between(0.01, 0.05), traits=(ReportsProgress(percent=30),)),
    strikes=(
        Strike(
            FailOverRedis(behind_s=1.0),
            when=Effects(count=Between(10, 30)),
            lasts_s=Between(0.2, 1.0),
            drawn={"behind_s": Between(0.5, 1.5)},
        ),
    ),
    premises=(WorkDuring(FailOverRedis.name, at_least=3),),
    needs=("sentinels",),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.STATUS_TRUTHFUL,
        Guarantee.FENCED_WRITES,
    ),
)
