"""Results and progress are read while a worker dies."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import (
    Between,
    EffectAccepted,
    HasResult,
    KilledAfterEffect,
    ReportsProgress,
    Scenario,
    Strike,
    Workload,
)
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="results_read",
    story=(
        "Tasks report their progress several times and return results of many sizes, while clients read both and a worker is killed. "
        "A result that is read must be that of a successful attempt, and progress must not go back."
    ),
    workload=Workload(
        tasks=60,
        rate_per_s=30,
        work_s=Between(0.01, 0.05),
        traits=(HasResult(size=Between(10, 20_000)), ReportsProgress(percent=30, work_s=Between(0.05, 0.2))),
    ),
    strikes=(Strike(KillProcess(), when=EffectAccepted(nth=Between(10, 30)), lasts_s=Between(0.3, 1.0)),),
    premises=(KilledAfterEffect(),),
    at_stake=(
        Guarantee.RESULT_TRUTHFUL,
        Guarantee.PROGRESS_MONOTONIC,
        Guarantee.STATUS_TRUTHFUL,
        Guarantee.OUTCOME_REPORTED,
        Guarantee.NOTHING_LEAKED,
        Guarantee.NO_LOST_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
    ),
)
