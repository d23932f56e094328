"""All ok answers of one (user, key) carry the same id, and only one of the tasks under that key has effects (rule 14)."""

from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks of one key that were answered, or carried out, as if they were several."""
    violations: list[Violation] = []
    exercised = 0
    for (_, key), answers in history.keyed.items():
        answered = {task: ids for task, ids in answers.items() if ids}
        exercised += len(answers) > 1 or any(
            len(ids) > 1 or history.tasks[task].invoked > 1 for task, ids in answers.items()
        )
        if len({identity for ids in answered.values() for identity in ids}) > 1:
            violations.extend(
                Violation(task, Proof.EVENTS, f"key {key!r} was answered with different ids") for task in answered
            )
        carried_out = [task for task in answers if history.tasks[task].effects]
        if len(carried_out) > 1:
            violations.extend(
                Violation(task, Proof.EVENTS, f"key {key!r} had effects as several tasks") for task in carried_out
            )
    return Findings(
        tuple(violations), exercised=exercised, figures={"keys": len(history.keyed), "resubmitted": exercised}
    )
