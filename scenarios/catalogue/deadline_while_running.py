"""Deadlines pass while their tasks run."""

from scenarios.experiment.scenario import Between, HasDeadline, Scenario, Seen, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="deadline_while_running",
    story=(
        "Workers are free, so every task starts at once, and the deadline of half of them comes long before their work is done. "
        "A result that nobody waits for any more must not be shown as a success; what had no deadline must be done."
    ),
    workload=Workload(
        tasks=10,
        rate_per_s=0.6,
        work_s=Between(2.8, 3.2),
        traits=(HasDeadline(percent=50, deadline_s=Between(0.5, 0.9)),),
    ),
    strikes=(),
    premises=(Seen("attempt.start", 5),),
    needs=("deadline",),
    at_stake=(
        Guarantee.NOT_DONE_AFTER_DEADLINE,
        Guarantee.DEADLINE_HONOURED,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.LEGAL_TRANSITIONS,
    ),
)
