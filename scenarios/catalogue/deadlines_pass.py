"""Deadlines pass while tasks wait."""

from scenarios.experiment.scenario import (
    Between,
    DeadlinePassed,
    HasDeadline,
    OutlastsDeadline,
    Scenario,
    Seen,
    Workload,
)
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="deadlines_pass",
    story=(
        "Clients submit faster than the workers work, and half of the tasks have a deadline that comes before their turn or after it; "
        "some work on beyond theirs. What is past its deadline must not start; what had none must be done."
    ),
    workload=Workload(
        tasks=80,
        rate_per_s=80,
        work_s=Between(0.05, 0.1),
        traits=(
            HasDeadline(percent=50, deadline_s=Between(0.3, 1.5)),
            OutlastsDeadline(percent=4, deadline_s=Between(0.8, 1.5), beyond_s=1.5),
        ),
    ),
    strikes=(),
    premises=(Seen("attempt.start", 10), DeadlinePassed(2)),
    needs=("deadline",),
    at_stake=(
        Guarantee.DEADLINE_HONOURED,
        Guarantee.NOT_DONE_AFTER_DEADLINE,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.LEGAL_TRANSITIONS,
    ),
)
