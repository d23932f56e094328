"""Clients submit the same task again, and other tasks under the same key."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import (
    AttemptBegun,
    Between,
    IsResubmitted,
    Scenario,
    SharesKey,
    Strike,
    WorkDuring,
    Workload,
)
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="resubmissions",
    story=(
        "Clients that lost an answer submit again by the same idempotency key, and some send another task under a key that is taken, "
        "while a worker is killed. One key is one task, unless the system says that a task that has begun is another."
    ),
    workload=Workload(
        tasks=50,
        rate_per_s=30,
        work_s=Between(0.01, 0.05),
        traits=(IsResubmitted(percent=30), SharesKey(percent=20, after_s=Between(0.3, 1.0))),
    ),
    strikes=(Strike(KillProcess(), when=AttemptBegun(nth=Between(10, 30)), lasts_s=Between(0.3, 0.6)),),
    premises=(WorkDuring(KillProcess.name),),
    needs=("key",),
    at_stake=(
        Guarantee.IDEMPOTENT_SUBMISSION,
        Guarantee.COALESCED_SUBMISSION_RUNS,
        Guarantee.OUTBOX_ATOMIC,
        Guarantee.NO_PHANTOM_TASK,
        Guarantee.EFFECT_AT_MOST_ONCE,
        Guarantee.NO_LOST_TASK,
    ),
)
