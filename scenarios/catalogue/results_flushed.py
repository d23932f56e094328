"""Every key of the result backend is removed while clients wait for results."""

from chaos.faults import FlushKeys
from scenarios.experiment.scenario import Between, Effects, HasResult, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="results_flushed",
    story=(
        "Every key of the result backend is removed while tasks are executed. How a task ended before can no longer be read where results "
        "are kept only there; every task must still be done, once, and the results of later ones must be read."
    ),
    workload=Workload(tasks=80, rate_per_s=30, work_s=Between(0.01, 0.05), traits=(HasResult(),)),
    strikes=(Strike(FlushKeys("result backend"), when=Effects(count=Between(15, 40)), lasts_s=Between(0.2, 1.0)),),
    premises=(WorkDuring(FlushKeys.name),),
    needs=("result",),
    at_stake=(
        Guarantee.OUTCOME_REPORTED,
        Guarantee.RESULT_TRUTHFUL,
        Guarantee.STATUS_TRUTHFUL,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
    ),
)
