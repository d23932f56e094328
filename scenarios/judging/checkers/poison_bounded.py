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
        redelivered = Counter(one.latter.round for one in repeats.get(timeline.task, ()) if one.is_redelivery)
        starts = attempts_most(timeline, redelivered)
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


def attempts_most(timeline: TaskTimeline, redelivered: Counter[int]) -> int:
    """Maximum number of attempts in one round (the time between redrives)."""
    if not timeline.redrives_ns:
        starts, claims = len(timeline.attempts), [row.to for row in timeline.states].count("RUNNING")
        if claims > starts:
            claims -= sum(row.to == "RUNNING" and row.from_ == "WAITING_TOOL" for row in timeline.states)
        return max(starts, claims) - redelivered[0]
    rounds = range(len(timeline.redrives_ns) + 1)
    return max(attempts_seen(timeline, number) - redelivered[number] for number in rounds)


def attempts_seen(timeline: TaskTimeline, number: int) -> int:
    """Attempts of one round: starts of the handler or RUNNING rows, whichever are more (a worker may crash between the two)."""
    starts = sum(attempt.round == number for attempt in timeline.attempts)
    claims = sum(
        row.to == "RUNNING" and row.from_ != "WAITING_TOOL" and round_of(timeline, row.t_ns) == number
        for row in timeline.states
    )
    return max(starts, claims)


def round_of(timeline: TaskTimeline, instant: int) -> int:
    """The number of redrives before this instant."""
    return sum(redriven < instant for redriven in timeline.redrives_ns)
