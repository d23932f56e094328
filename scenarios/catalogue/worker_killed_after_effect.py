"""A worker dies between its effect and the record that its task is done."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import Between, EffectAccepted, KilledAfterEffect, Scenario, Strike, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="worker_killed_after_effect",
    story=(
        "A worker is killed right after the outside resource accepted its effect, before it can record that. "
        "The task must still be finished, and its effect must not happen again."
    ),
    workload=Workload(tasks=80, rate_per_s=40, work_s=Between(0.01, 0.05)),
    strikes=(Strike(KillProcess(), when=EffectAccepted(nth=Between(10, 40)), lasts_s=Between(0.3, 1.5)),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
    ),
    premises=(KilledAfterEffect(),),
)
