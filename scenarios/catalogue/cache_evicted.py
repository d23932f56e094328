"""The memory of the cache is full, and it drops keys."""

from chaos.faults import EvictKeys
from scenarios.experiment.scenario import Between, Effects, ReportsProgress, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="cache_evicted",
    story=(
        "The cache is full, because of another program, and evicts keys of the system, whichever it has not used for longest. "
        "A lock or counter may be gone although its time is not over; no task may be lost, stuck or done twice because of that."
    ),
    workload=Workload(
        tasks=80, rate_per_s=25, work_s=Between(0.01, 0.05), failing_once=8, traits=(ReportsProgress(percent=30),)
    ),
    strikes=(Strike(EvictKeys("cache"), when=Effects(count=Between(15, 40)), lasts_s=Between(0.2, 1.0)),),
    premises=(WorkDuring(EvictKeys.name),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.STATUS_TRUTHFUL,
        Guarantee.FENCED_WRITES,
        Guarantee.RECOVERS_IN_TIME,
    ),
)
