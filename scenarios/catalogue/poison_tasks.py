"""Some tasks kill the worker that runs them."""

from scenarios.experiment.scenario import Between, DiedOfTask, KillsWorker, Scenario, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="poison_tasks",
    story=(
        "A task ends its own process by SIGKILL: some do it once, some every time. Nothing else may be lost with the process, "
        "and a task that always kills must be given up after as many attempts as the policy allows."
    ),
    workload=Workload(
        tasks=40,
        rate_per_s=20,
        work_s=Between(0.01, 0.05),
        traits=(KillsWorker(percent=3), KillsWorker(percent=8, times=1)),
    ),
    strikes=(),
    premises=(DiedOfTask(),),
    at_stake=(
        Guarantee.POISON_BOUNDED,
        Guarantee.DEAD_LETTER_IF_EXHAUSTED,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.NO_PHANTOM_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.EFFECT_AT_MOST_ONCE,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.LEGAL_TRANSITIONS,
    ),
)
