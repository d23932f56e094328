"""Two users submit all at once, in two scopes."""

from scenarios.experiment.scenario import Between, HasScope, OfFewUsers, Scenario, Seen, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="users_burst",
    story=(
        "Two users submit more tasks at once than their limits allow, and their clients try again when they are denied. "
        "No limit may be exceeded, deny while its window is not full, or lose a task that it allowed."
    ),
    workload=Workload(
        tasks=50,
        rate_per_s=50,
        work_s=Between(0.02, 0.04),
        traits=(OfFewUsers(users=2), HasScope(percent=100, scopes=2)),
    ),
    strikes=(),
    premises=(Seen("submit.ok", 12),),
    at_stake=(
        Guarantee.RATE_LIMIT_RESPECTED,
        Guarantee.DENIED_ONLY_WHEN_FULL,
        Guarantee.EXECUTION_RATE_RESPECTED,
        Guarantee.CONCURRENCY_BOUNDED,
        Guarantee.STARTS_IN_TIME,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_PHANTOM_TASK,
    ),
)
