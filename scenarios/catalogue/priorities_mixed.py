"""Tasks of two priorities come faster than they can be done."""

from scenarios.experiment.scenario import Between, HasPriority, Scenario, Seen, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="priorities_mixed",
    story=(
        "For a second tasks of a high and a low priority come faster than the workers work. The high ones may go first, "
        "but not so often that a low one starves."
    ),
    workload=Workload(tasks=100, rate_per_s=80, work_s=Between(0.04, 0.06), traits=(HasPriority(classes=2),)),
    strikes=(),
    premises=(Seen("attempt.start", 50),),
    needs=("priority",),
    at_stake=(
        Guarantee.PRIORITY_BOUNDED,
        Guarantee.STARTS_IN_TIME,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
    ),
)
