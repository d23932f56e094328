"""A task never has more than `attempts_max` attempts; each redrive begins a new count (rules 10, 20 and 27).

The count is the number of starts, or of RUNNING rows (except those from WAITING_TOOL) if that is greater. A start explained by a lost
acknowledgement, or by a fault on broker, network or database, does not count: the same message was delivered again. A start explained
by a crash counts.
"""

from collections import Counter

from scenarios.judging.causes import repeats_of
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks that were tried too often."""
    repeats = repeats_of(history, policy)
    violations = []
    most = 0
    exercised = 0
    for timeline in history.tasks.values():
        attempts = attempts_by_round(timeline)
        for repeat in repeats.get(timeline.task, ()):
            attempts[repeat.latter.round] -= repeat.is_redelivery
        starts = max(attempts)
        exercised += starts > 1 or len(timeline.attempts) > 1
        most = max(most, starts)
        if policy.attempts_max is not None and starts > policy.attempts_max:
            what = f"tried {starts} times; the policy allows {policy.attempts_max}"
            violations.append(Violation(timeline.task, Proof.EVENTS, what))
    undecided = ""
    if policy.attempts_max is None and most > 1:
        undecided = f"a task was tried {most} times, but the policy states no attempts_max"
    return Findings(
        tuple(violations),
        exercised=exercised,
        undecided=undecided,
        figures={"starts_most": most, "over": len(violations)},
    )


def attempts_by_round(timeline: TaskTimeline) -> list[int]:
    """Attempts of each round: starts of the handler or RUNNING rows, whichever are more (a worker may crash between the two)."""
    claims_ns = [row.t_ns for row in timeline.states if row.to == "RUNNING" and row.from_ != "WAITING_TOOL"]
    if not timeline.redrives_ns:
        return [max(len(timeline.attempts), len(claims_ns))]
    starts = Counter(attempt.round for attempt in timeline.attempts)
    claims = Counter(map(timeline.round_of, claims_ns))
    return [max(starts[number], claims[number]) for number in range(len(timeline.redrives_ns) + 1)]
