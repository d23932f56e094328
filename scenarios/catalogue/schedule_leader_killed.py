"""The process that leads a schedule is killed, and comes back or is replaced."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import Between, LeaderAtWork, Scenario, Seen, SetsSchedule, Strike, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="schedule_leader_killed",
    story=(
        "A client sets up a schedule with an occurrence every half second, and the leader is killed while it leads. "
        "Each occurrence must come exactly once; what becomes of those that were missed, the policy says."
    ),
    workload=Workload(
        tasks=20,
        rate_per_s=10,
        work_s=Between(0.01, 0.03),
        deeds=(SetsSchedule(at_s=0.2, every_s=0.5, times=10),),
    ),
    strikes=(Strike(KillProcess(), when=LeaderAtWork(nth=Between(8, 25)), lasts_s=Between(0.3, 1.2)),),
    premises=(Seen("spawn", 3),),
    needs=("schedule",),
    at_stake=(
        Guarantee.SCHEDULE_KEPT,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.NO_PHANTOM_TASK,
    ),
)
