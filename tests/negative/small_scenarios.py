"""Short scenarios for the small systems: one worker is killed at one moment of its task, or stands still, or nothing is struck."""

from chaos.faults import KillProcess, PauseProcess, StopProcess
from scenarios.experiment.scenario import (
    AttemptBegun,
    Between,
    EffectAccepted,
    HasChildren,
    KilledAfterEffect,
    Outlasting,
    Scenario,
    Strike,
    StruckAtWork,
    TaskTakenOver,
    Workload,
)
from scenarios.judging.guarantees import Guarantee

WORKLOAD = Workload(tasks=30, rate_per_s=40, work_s=Between(0.02, 0.04))
AT_STAKE = (Guarantee.NO_LOST_TASK,)
STORY = "A test of the lab itself."

killed_before_effect = Scenario(
    "killed_before_effect", STORY, WORKLOAD, (Strike(KillProcess(), when=AttemptBegun(nth=12), lasts_s=0.3),), AT_STAKE
)
killed_after_effect = Scenario(
    "killed_after_effect",
    STORY,
    WORKLOAD,
    (Strike(KillProcess(), when=EffectAccepted(nth=12), lasts_s=0.3),),
    AT_STAKE,
    premises=(KilledAfterEffect(),),
)
stands_still = Scenario(
    "stands_still",
    STORY,
    WORKLOAD,
    (Strike(PauseProcess(), when=AttemptBegun(nth=12), lasts_s=Outlasting("lease", times=2.0)),),
    AT_STAKE,
    premises=(TaskTakenOver(),),
)

stopped_at_work = Scenario(
    "stopped_at_work",
    STORY,
    Workload(tasks=12, rate_per_s=20, work_s=Between(0.2, 0.3)),
    (Strike(StopProcess(), when=AttemptBegun(nth=4), lasts_s=0.2),),
    AT_STAKE,
    premises=(StruckAtWork(StopProcess.name),),
)
families = Scenario(
    "families",
    STORY,
    Workload(
        tasks=10,
        rate_per_s=40,
        work_s=Between(0.01, 0.02),
        traits=(HasChildren(percent=50, count=2, deep=2, joined=False),),
    ),
    (),
    AT_STAKE,
)
