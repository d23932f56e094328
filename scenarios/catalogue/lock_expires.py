"""The leader is paused for longer than its lock lasts, and goes on as if it were still the leader."""

from chaos.faults import PauseProcess
from scenarios.experiment.scenario import Between, LeaderAtWork, LockTakenOver, Outlasting, Scenario, Strike, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="lock_expires",
    story=(
        "The leader of the sweep is paused while it holds its Redis lock, for longer than the lock lasts; then it goes on. "
        "By then there is another leader: every later write of the former one must be refused."
    ),
    workload=Workload(tasks=60, rate_per_s=30, work_s=Between(0.01, 0.05)),
    strikes=(
        Strike(
            PauseProcess(), when=LeaderAtWork(nth=Between(4, 8)), lasts_s=Outlasting("lock", times=Between(1.7, 2.5))
        ),
    ),
    at_stake=(
        Guarantee.FENCED_WRITES,
        Guarantee.SINGLE_HOLDER,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
    ),
    premises=(LockTakenOver(),),
)
