"""A worker is killed and does not come back."""

from chaos.faults import LoseProcess
from scenarios.experiment.scenario import AttemptBegun, Between, LostAtWork, Scenario, Strike, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="worker_lost",
    story=(
        "A worker is killed during an attempt, and it is not started again. The others must take over its task, and all the work, "
        "within the budget that the system states."
    ),
    workload=Workload(tasks=60, rate_per_s=30, work_s=Between(0.01, 0.05), failing_once=8),
    strikes=(Strike(LoseProcess(), when=AttemptBegun(nth=Between(10, 30))),),
    premises=(LostAtWork(),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.RECOVERS_IN_TIME,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.STARTS_IN_TIME,
    ),
)
