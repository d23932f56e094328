"""A process of a worker's pool is killed while it runs a task."""

from chaos.faults import KillChild
from scenarios.experiment.scenario import AttemptBegun, Between, LostAtWork, Scenario, Strike, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="child_killed",
    story=(
        "A child process that runs a task is killed, as when the machine has no memory left; the worker that started it goes on. "
        "The task must be run again, or be listed as dead; nothing else may be lost with it."
    ),
    workload=Workload(tasks=60, rate_per_s=40, work_s=Between(0.1, 0.3)),
    strikes=(Strike(KillChild(), when=AttemptBegun(nth=Between(8, 20))),),
    premises=(LostAtWork(KillChild.name),),
    needs=("pool",),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.NO_PHANTOM_TASK,
        Guarantee.OUTCOME_REPORTED,
        Guarantee.RECOVERS_IN_TIME,
    ),
)
