"""Tasks submit child tasks, and a worker is killed meanwhile."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import Between, EffectAccepted, HasChildren, Scenario, Seen, Strike, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="children_joined",
    story=(
        "Some tasks submit several others, each of them the next of a chain, and one that runs when all are done; a worker is killed. "
        "Every one of these tasks must be done, once."
    ),
    workload=Workload(
        tasks=30,
        rate_per_s=20,
        work_s=Between(0.01, 0.05),
        traits=(HasChildren(percent=30, count=Between(2, 4), deep=2),),
    ),
    strikes=(Strike(KillProcess(), when=EffectAccepted(nth=Between(10, 30)), lasts_s=Between(0.3, 1.0)),),
    premises=(Seen("spawn", 4),),
    needs=("children",),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.NO_PHANTOM_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.OUTBOX_ATOMIC,
        Guarantee.DUPLICATES_EXPLAINED,
    ),
)
