"""The cache dies and comes back without its data."""

from chaos.faults import RestartEmpty
from scenarios.experiment.scenario import Between, Effects, ReportsProgress, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="cache_restarted_empty",
    story=(
        "The cache is killed and started again without its files. "
        "Only fast state may be lost with it; the system must connect again, and no task may be lost, stuck or done twice."
    ),
    workload=Workload(
        tasks=80, rate_per_s=25, work_s=Between(0.01, 0.05), failing_once=8, traits=(ReportsProgress(percent=30),)
    ),
    strikes=(Strike(RestartEmpty("cache"), when=Effects(count=Between(15, 40)), lasts_s=Between(0.2, 1.0)),),
    premises=(WorkDuring(RestartEmpty.name),),
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
