"""A worker is paused for longer than its lease, and goes on as a zombie."""

from chaos.faults import PauseProcess
from scenarios.experiment.scenario import AttemptBegun, Between, Outlasting, Scenario, Strike, TaskTakenOver, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="lease_expires",
    story=(
        "A worker is paused after it claimed a task and before its effect, for longer than its lease; then it goes on. "
        "Another attempt has taken over: every later write of the first worker, now a zombie, must be refused."
    ),
    workload=Workload(tasks=80, rate_per_s=30, work_s=Between(0.01, 0.05)),
    strikes=(
        Strike(
            PauseProcess(), when=AttemptBegun(nth=Between(10, 40)), lasts_s=Outlasting("lease", times=Between(1.5, 2.0))
        ),
    ),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.FENCED_WRITES,
        Guarantee.SINGLE_HOLDER,
        Guarantee.LEGAL_TRANSITIONS,
    ),
    premises=(TaskTakenOver(),),
)
