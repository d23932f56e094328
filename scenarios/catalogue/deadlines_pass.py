"""Deadlines pass while tasks wait."""

from scenarios.experiment.scenario import Between, HasDeadline, OutlastsLease, Scenario, Seen, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="deadlines_pass",
    story=(
        "Clients submit faster than the workers work, and half of the tasks have a deadline that comes before their turn or after it. "
        "What is past its deadline must not start; what had none must be done."
    ),
    workload=Workload(
        tasks=80,
        rate_per_s=80,
        work_s=Between(0.05, 0.1),
        traits=(
            HasDeadline(percent=50, deadline_s=Between(0.3, 1.5)),
            OutlastsLease(percent=5, leases=Between(1.5, 2.0)),
        ),
    ),
    strikes=(),
    premises=(Seen("attempt.start", 10),),
    needs=("deadline",),
    at_stake=(
        Guarantee.DEADLINE_HONOURED,
        Guarantee.NOT_DONE_AFTER_DEADLINE,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.LEGAL_TRANSITIONS,
    ),
)
