"""Tasks work for longer than their lease lasts."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import AttemptBegun, Between, OutlastsLease, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="long_work",
    story=(
        "Some tasks work for longer than the lease that their worker holds, and one worker is killed. Whoever is at work must keep "
        "its task; whoever is dead must lose it."
    ),
    workload=Workload(
        tasks=40,
        rate_per_s=20,
        work_s=Between(0.01, 0.05),
        traits=(OutlastsLease(percent=10, leases=Between(1.3, 4.0)),),
    ),
    strikes=(Strike(KillProcess(), when=AttemptBegun(nth=Between(10, 25)), lasts_s=Between(0.3, 1.0)),),
    premises=(WorkDuring(KillProcess.name),),
    at_stake=(
        Guarantee.LEASE_KEPT,
        Guarantee.SINGLE_HOLDER,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
    ),
)
