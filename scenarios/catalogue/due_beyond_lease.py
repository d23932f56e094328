"""Tasks are due later than a lease lasts."""

from scenarios.experiment.scenario import Between, IsDueBeyondLease, Scenario, Seen, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="due_beyond_lease",
    story=(
        "Some tasks are due later than a message or task may be held by one worker, which may wait with it in hand. Each must start once, "
        "not before its time and not much after it."
    ),
    workload=Workload(
        tasks=30,
        rate_per_s=20,
        work_s=Between(0.01, 0.05),
        traits=(IsDueBeyondLease(percent=30, leases=Between(1.3, 2.2)),),
    ),
    strikes=(),
    premises=(Seen("attempt.start", 10),),
    needs=("due",),
    at_stake=(
        Guarantee.NOT_BEFORE_DUE,
        Guarantee.DUE_IN_TIME,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
    ),
)
