"""All workers are replaced, one after the other, as at a deployment."""

from chaos.faults import StopProcess
from scenarios.experiment.scenario import AttemptBegun, Between, PreviousOver, Scenario, Strike, StruckAtWork, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="workers_rolled",
    story=(
        "One worker after the other gets its stop signal while it runs tasks, and is started again; old and new ones work side by side. "
        "Every task must be done, once, whichever worker had it in hand."
    ),
    workload=Workload(tasks=49, rate_per_s=7, work_s=Between(0.3, 0.6)),
    strikes=(
        Strike(StopProcess("worker:1"), when=AttemptBegun(nth=Between(4, 10)), lasts_s=Between(0.1, 0.4)),
        Strike(StopProcess("worker:2"), when=PreviousOver(wait_s=Between(1.0, 2.0)), lasts_s=Between(0.1, 0.4)),
    ),
    premises=(StruckAtWork(StopProcess.name),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.OUTCOME_REPORTED,
        Guarantee.RECOVERS_IN_TIME,
    ),
)
