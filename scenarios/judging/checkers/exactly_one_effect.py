"""Violated by a done task without an accepted effect, or any task with two accepted effects of one step (rule 5).

Done: listed as done, or an attempt of it ended ok (in a history without ends of attempts: it has an accepted effect).
Lost and dead tasks need no effect; nor does a task that was dead before a zombie reported its success (rule 20).
"""

from scenarios.judging.checkers.effect_at_most_once import doubled
from scenarios.judging.endings import is_done, succeeded
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks with no effect, or with one too many."""
    violations: list[Violation] = []
    exercised = 0
    for timeline in history.tasks.values():
        if timeline.effects:
            exercised += 1
            violations.extend(doubled(timeline))
        elif is_done(history, timeline, policy):
            exercised += 1
            # An effect comes before the end of its attempt. If the task is only listed as done, the effect may still be under way.
            proof = Proof.RECORD if succeeded(history, timeline, policy) else Proof.END
            violations.append(Violation(timeline.task, proof, "done without an accepted effect"))
    for task in sorted(history.lists.done.difference(history.tasks)):
        violations.append(Violation(task, Proof.END, "listed as done, without an accepted effect"))
    return Findings(
        tuple(violations), exercised=exercised, figures={"done_or_with_effects": exercised, "wrong": len(violations)}
    )
