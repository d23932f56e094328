"""A scenario of Acme's own: its worker stands still in the middle of a task, then its machine takes it away."""

from tasklab.scenario import (
    AttemptBegun,
    Between,
    EffectAccepted,
    Guarantee,
    KilledAfterEffect,
    KillProcess,
    PauseProcess,
    Scenario,
    Strike,
    WorkDuring,
    Workload,
)

scenario = Scenario(
    name="lunch_break",
    story=(
        "A worker stands still with a task in hand; later it is killed right after an effect. "
        "No task may be lost, and none may be done twice."
    ),
    workload=Workload(tasks=40, rate_per_s=20, work_s=Between(0.01, 0.05)),
    strikes=(
        Strike(PauseProcess(), when=AttemptBegun(nth=Between(5, 10)), lasts_s=Between(0.5, 1.0)),
        Strike(KillProcess(), when=EffectAccepted(nth=Between(15, 25)), lasts_s=0.5),
    ),
    at_stake=(Guarantee.NO_LOST_TASK, Guarantee.EXACTLY_ONE_EFFECT, Guarantee.DUPLICATES_EXPLAINED),
    premises=(WorkDuring(PauseProcess.name), KilledAfterEffect()),
)
