"""Tasks are handed in to be run later, and a worker dies while they wait."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import AttemptBegun, Between, IsScheduled, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="due_later",
    story=(
        "Half of the tasks are due some time after their submission; a worker is killed while they wait. None may start before its time, "
        "and none much after it."
    ),
    workload=Workload(
        tasks=60,
        rate_per_s=30,
        work_s=Between(0.01, 0.03),
        traits=(IsScheduled(percent=50, due_s=Between(0.3, 3.0)),),
    ),
    strikes=(Strike(KillProcess(), when=AttemptBegun(nth=Between(10, 20)), lasts_s=Between(0.3, 0.6)),),
    premises=(WorkDuring(KillProcess.name),),
    needs=("due",),
    at_stake=(
        Guarantee.NOT_BEFORE_DUE,
        Guarantee.DUE_IN_TIME,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
    ),
)
