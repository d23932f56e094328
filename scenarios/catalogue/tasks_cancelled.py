"""Clients withdraw tasks that wait, run, or have just ended."""

from scenarios.experiment.scenario import Between, CancelledInTime, IsCancelled, Scenario, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="tasks_cancelled",
    story=(
        "Clients submit in a burst and cancel a third of their tasks, some at once and some after a while. "
        "What was cancelled must not start, have an effect or end as done; what was not must."
    ),
    workload=Workload(
        tasks=60,
        rate_per_s=60,
        work_s=Between(0.05, 0.1),
        failing_once=10,
        traits=(IsCancelled(percent=33, after_s=Between(0.0, 0.3)),),
    ),
    strikes=(),
    premises=(CancelledInTime(2),),
    needs=("cancel",),
    at_stake=(
        Guarantee.CANCEL_HONOURED,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.LEGAL_TRANSITIONS,
        Guarantee.STATUS_TRUTHFUL,
    ),
)
