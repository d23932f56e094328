"""A person pauses tasks while they flow, and resumes them."""

from scenarios.experiment.scenario import Between, HasScope, PausesTasks, Scenario, Seen, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="tasks_paused",
    story=(
        "While tasks are executed, those of one scope (of a system without scopes: all) are paused for a while. None of them may start "
        "meanwhile, all others continue, and after the resumption everything is done."
    ),
    workload=Workload(
        tasks=60,
        rate_per_s=20,
        work_s=Between(0.01, 0.03),
        traits=(HasScope(percent=70, scopes=2),),
        deeds=(PausesTasks(at_s=Between(0.3, 0.8), lasts_s=Between(1.0, 1.5), scopes=2),),
    ),
    strikes=(),
    premises=(Seen("pause.ok"), Seen("resume.ok")),
    needs=("pause", "resume"),
    at_stake=(
        Guarantee.PAUSE_HONOURED,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.STARTS_IN_TIME,
    ),
)
