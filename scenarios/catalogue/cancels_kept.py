"""Tasks are cancelled while they wait, and a worker is killed afterwards."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import (
    AttemptBegun,
    Between,
    CancelledInTime,
    IsCancelled,
    Scenario,
    Strike,
    Workload,
)
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="cancels_kept",
    story=(
        "Clients submit in a burst and cancel some tasks while these wait; then a worker is killed and started again. What was cancelled "
        "before must not be forgotten with it: none of that may start or end as done."
    ),
    workload=Workload(
        tasks=60,
        rate_per_s=60,
        work_s=Between(0.08, 0.15),
        traits=(IsCancelled(percent=30, after_s=Between(0.0, 0.1)),),
    ),
    strikes=(Strike(KillProcess(), when=AttemptBegun(nth=Between(10, 20)), lasts_s=Between(0.1, 0.4)),),
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
