"""Tasks fail while the broker is away, so that their retries cannot be published."""

from chaos.faults import KillService
from scenarios.experiment.scenario import AttemptBegun, Between, FailedDuring, Scenario, Strike, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="retries_without_broker",
    story=(
        "Every task fails once, and the broker is killed while some run: they fail when their retry cannot be handed to it. "
        "The failure must not be taken for the end of the task: it must be tried again when the broker is back."
    ),
    workload=Workload(tasks=20, rate_per_s=12, work_s=Between(0.2, 0.5), failing_once=100),
    strikes=(Strike(KillService("broker"), when=AttemptBegun(nth=Between(4, 8)), lasts_s=Between(0.8, 2.0)),),
    premises=(FailedDuring(KillService.name),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.OUTCOME_REPORTED,
        Guarantee.RECOVERS_IN_TIME,
    ),
)
