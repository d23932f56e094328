"""Violated by two accepted effects of one step of one task (rule 5, its weaker half)."""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks with an effect twice."""
    with_effects = [timeline for timeline in history.tasks.values() if timeline.effects]
    violations = tuple(violation for timeline in with_effects for violation in doubled(timeline))
    return Findings(
        violations,
        exercised=len(with_effects),
        figures={"tasks_with_effects": len(with_effects), "doubled": len(violations)},
    )


def doubled(timeline: TaskTimeline) -> list[Violation]:
    """The violation, if the task has two accepted effects of one step."""
    effects = timeline.effects
    if len(effects) < 2:
        return []
    steps = {str(event.step) for event in effects}  # 1 and "1" are one step
    if len(steps) == len(effects):
        return []
    return [Violation(timeline.task, Proof.EVENTS, f"{len(effects)} accepted effects for {len(steps)} step(s)")]
