"""All ok answers of one (user, key) carry the same id, and only one of the tasks under that key has effects (rules 14, 24 and 25).

A key is kept for `policy.key_window_s` (default: always) from the acknowledgement that opened its group; a later `submit.invoke`
opens a new group. With `policy.coalesce`, so does a submission that began after the group's task had started and was answered with a
new id.
"""

from scenarios.judging.keys import groups_of
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks of one key that were answered, or had effects, as separate tasks."""
    violations: list[Violation] = []
    exercised = 0
    for named in history.key_events:
        for group in groups_of(history, named, policy):
            exercised += len(group.invocations) > 1
            answered = [task for task, ids in group.ids.items() if ids]
            if len({identity for ids in group.ids.values() for identity in ids}) > 1:
                what = f"key {named[1]!r} was answered with different ids"
                violations.extend(Violation(task, Proof.EVENTS, what) for task in answered)
            with_effects = [task for task in group.ids if history.tasks[task].effects]
            if len(with_effects) > 1:
                what = f"key {named[1]!r} had effects as several tasks"
                violations.extend(Violation(task, Proof.EVENTS, what) for task in with_effects)
    return Findings(
        tuple(violations), exercised=exercised, figures={"keys": len(history.keyed), "resubmitted": exercised}
    )
