"""A worker is stopped while it works, as at every deployment."""

from chaos.faults import StopProcess
from scenarios.experiment.scenario import AttemptBegun, Between, Scenario, Strike, StruckAtWork, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="worker_stopped",
    story=(
        "A worker gets its stop signal while it runs tasks, and is started again after it has ended. What it has in hand it must "
        "finish, or give back, to be done once by another; what it has not finished after ten seconds is killed with it."
    ),
    workload=Workload(tasks=24, rate_per_s=10, work_s=Between(0.3, 0.6)),
    strikes=(Strike(StopProcess(), when=AttemptBegun(nth=Between(4, 10)), lasts_s=Between(0.3, 1.0)),),
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
