"""The Redis primary dies and a replica takes over."""

from chaos.faults import FailOverRedis
from scenarios.experiment.scenario import Between, Effects, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="redis_failover",
    story=(
        "The Redis primary is killed under load and the Sentinels promote its replica. "
        "Fast state may be lost, durable state may not; no task may fail because its progress could not be written."
    ),
    workload=Workload(tasks=100, rate_per_s=20, work_s=Between(0.01, 0.05)),
    strikes=(Strike(FailOverRedis(), when=Effects(count=Between(10, 30)), lasts_s=Between(0.2, 1.0)),),
    needs=("sentinels",),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.DEAD_LETTER_IF_EXHAUSTED,
        Guarantee.STATUS_TRUTHFUL,
        Guarantee.FENCED_WRITES,
    ),
    premises=(WorkDuring(FailOverRedis.name, at_least=3),),
)
