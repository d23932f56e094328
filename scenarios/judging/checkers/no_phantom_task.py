"""A phantom is an attempt or effect of a task that was never submitted, or whose every submission surely failed (rule 4).

A `fail` counts only if no other invocation of the task is ok, unknown or still open. If a submission of the task states its number of
`steps`, an accepted effect of any step but 1 to that number is a phantom, too.
"""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks that ran without a possible submission."""
    violations = []
    ran = 0
    for timeline in history.tasks.values():
        if not timeline.ran:
            continue
        ran += 1
        if not timeline.is_submitted:
            violations.append(Violation(timeline.task, Proof.RECORD, "ran, and was never submitted"))
        elif not timeline.is_possible:
            violations.append(Violation(timeline.task, Proof.RECORD, "ran, although its submission had surely failed"))
        elif (step := _foreign_step(timeline)) is not None:
            what = f"an effect of step {step} was accepted, but its submission states {timeline.steps} step(s)"
            violations.append(Violation(timeline.task, Proof.EVENTS, what))
    return Findings(tuple(violations), exercised=ran, figures={"ran": ran, "phantoms": len(violations)})


def _foreign_step(timeline: TaskTimeline) -> str | None:
    """The first step with an accepted effect that no submission of the task asks for."""
    count = timeline.steps
    if count is None:
        return None
    steps = (str(effect.step) for effect in timeline.effects)
    return next((step for step in steps if not (step.isdecimal() and 1 <= int(step) <= count)), None)
