"""The process that leads a schedule stands still, another one leads, and the first goes on."""

from chaos.faults import PauseProcess
from scenarios.experiment.scenario import (
    Between,
    LeaderAtWork,
    LockTakenOver,
    Outlasting,
    Scenario,
    SetsSchedule,
    Strike,
    Workload,
)
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="schedule_leader_paused",
    story=(
        "The leader of a schedule is paused for longer than its lock lasts and goes on while another process leads, as two "
        "schedulers do where there should be one. Each occurrence must come exactly once."
    ),
    workload=Workload(
        tasks=20, rate_per_s=10, work_s=Between(0.01, 0.03), deeds=(SetsSchedule(at_s=0.2, every_s=0.5, times=16),)
    ),
    strikes=(
        Strike(
            PauseProcess(), when=LeaderAtWork(nth=Between(8, 20)), lasts_s=Outlasting("lock", times=Between(1.7, 2.5))
        ),
    ),
    premises=(LockTakenOver(),),
    needs=("schedule",),
    at_stake=(
        Guarantee.SCHEDULE_KEPT,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.NO_PHANTOM_TASK,
    ),
)
