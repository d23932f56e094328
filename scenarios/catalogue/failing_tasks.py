"""Tasks fail in every way there is, and a worker dies among them."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import (
    AttemptBegun,
    Between,
    FailsUnknown,
    RedrivesDead,
    Scenario,
    Seen,
    Strike,
    Workload,
)
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="failing_tasks",
    story=(
        "Of every hundred tasks some fail once, some always, some for good, and some for an unknown reason; a worker is killed meanwhile. "
        "Each must be retried when and as often as the policy states, and be dead after that; an operator redrives the dead ones."
    ),
    workload=Workload(
        tasks=60,
        rate_per_s=30,
        work_s=Between(0.01, 0.05),
        failing_once=20,
        failing_always=10,
        failing_for_good=10,
        traits=(FailsUnknown(percent=15),),
        deeds=(RedrivesDead(most=3),),
    ),
    strikes=(Strike(KillProcess(), when=AttemptBegun(nth=Between(10, 30)), lasts_s=Between(0.3, 1.0)),),
    premises=(Seen("attempt.fail", 6), Seen("attempt.fail", 1, error="permanent")),
    at_stake=(
        Guarantee.RETRY_SCHEDULE,
        Guarantee.DEAD_LETTER_IF_EXHAUSTED,
        Guarantee.LEGAL_TRANSITIONS,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.EFFECT_AT_MOST_ONCE,
        Guarantee.STATUS_TRUTHFUL,
        Guarantee.OUTCOME_REPORTED,
        Guarantee.RECOVERS_IN_TIME,
    ),
)
