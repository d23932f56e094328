"""The relay dies between a publish and its confirm."""

from chaos.faults import KillProcess, WithholdConfirm
from scenarios.experiment.scenario import (
    AtStart,
    Between,
    PreviousBit,
    Scenario,
    Strike,
    UntilNextBites,
    WorkDuring,
    Workload,
)
from scenarios.judging.guarantees import Guarantee

ACKNOWLEDGED = 10
"""More than the number of clients: at least one of these was submitted and acknowledged after the cut, while nothing reaches the broker."""

SCENARIO = Scenario(
    name="relay_killed_after_publish",
    story=(
        "Right after a publish, nothing passes any more between the publishing process and RabbitMQ, so its confirm never comes; then the "
        "process is killed. Every accepted task must still reach the broker; a task that reaches it twice must be done once."
    ),
    workload=Workload(tasks=100, rate_per_s=40, work_s=Between(0.01, 0.05)),
    strikes=(
        Strike(
            WithholdConfirm("relay", nth=1), when=AtStart(), lasts_s=UntilNextBites(), drawn={"nth": Between(10, 40)}
        ),
        Strike(
            KillProcess("relay"),
            when=PreviousBit(wait_s=Between(0.1, 0.4), acknowledged=ACKNOWLEDGED),
            lasts_s=Between(0.3, 1.0),
        ),
    ),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
    ),
    premises=(WorkDuring(WithholdConfirm.name),),
)
