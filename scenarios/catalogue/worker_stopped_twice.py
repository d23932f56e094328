"""A worker gets a second stop signal while it still ends."""

from chaos.faults import StopProcess
from scenarios.experiment.scenario import AttemptBegun, Between, Scenario, Strike, StruckAtWork, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="worker_stopped_twice",
    story=(
        "A worker gets its stop signal while it runs tasks, and once more shortly after, as by a person who does not want to "
        "wait. It may end at once; what it has in hand must be done once, by another worker if not by itself."
    ),
    workload=Workload(tasks=16, rate_per_s=8, work_s=Between(0.6, 1.2)),
    strikes=(Strike(StopProcess(signals=2), when=AttemptBegun(nth=Between(3, 8)), lasts_s=Between(0.3, 1.0)),),
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
