"""Tasks work for longer than their lease lasts."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import (
    AttemptBegun,
    Between,
    LeaseOutlasted,
    OutlastsLease,
    Scenario,
    Strike,
    Workload,
)
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="long_work",
    story=(
        "Some tasks work for up to five times as long as the lease that their worker holds, and one worker is killed. A worker that is "
        "at work must keep its task; a dead one must lose it."
    ),
    workload=Workload(
        tasks=30,
        rate_per_s=20,
        work_s=Between(0.01, 0.05),
        traits=(OutlastsLease(percent=7, leases=Between(3.0, 5.0)),),
    ),
    strikes=(Strike(KillProcess(), when=AttemptBegun(nth=Between(8, 20)), lasts_s=Between(0.3, 1.0)),),
    premises=(LeaseOutlasted(),),
    at_stake=(
        Guarantee.LEASE_KEPT,
        Guarantee.SINGLE_HOLDER,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
    ),
)
