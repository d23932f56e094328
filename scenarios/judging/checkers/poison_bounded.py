"""A task never has more than `attempts_max` attempts in all, redrives apart: each redrive begins a new count (rules 10, 20 and 27).

Counted are the starts, or the rows RUNNING (those out of WAITING_TOOL apart), whichever are more. A start that a lost acknowledgement,
or a fault on broker, network or database explains is none: the same message came again. One that a crash explains counts.
"""

from collections import Counter

from scenarios.judging.causes import repeats_of
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History, TaskTimeline


def check(history: History, policy: Policy) -> Findings:
    """Tasks that were tried without end."""
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
        undecided = f"a task was tried {most} times, and the policy states no attempts_max"
    return Findings(
        tuple(violations),
        exercised=exercised,
        undecided=undecided,
        figures={"starts_most": most, "over": len(violations)},
    )


def attempts_most(timeline: TaskTimeline, redelivered: Counter[int]) -> int:
    """The most attempts of any round."""
    if not timeline.redrives_ns:
        starts, claims = len(timeline.attempts), [row.to for row in timeline.states].count("RUNNING")
        if claims > starts:
            claims -= sum(row.to == "RUNNING" and row.from_ == "WAITING_TOOL" for row in timeline.states)
        return max(starts, claims) - redelivered[0]
    rounds = range(len(timeline.redrives_ns) + 1)
    return max(attempts_seen(timeline, number) - redelivered[number] for number in rounds)


def attempts_seen(timeline: TaskTimeline, number: int) -> int:
    """Attempts of one round, by whatever shows most: starts of the handler, or rows RUNNING (a worker may die between)."""
    starts = sum(attempt.round == number for attempt in timeline.attempts)
    claims = sum(
        row.to == "RUNNING" and row.from_ != "WAITING_TOOL" and round_of(timeline, row.t_ns) == number
        for row in timeline.states
    )
    return max(starts, claims)


def round_of(timeline: TaskTimeline, instant: int) -> int:
    """How many redrives came before this instant."""
    return sum(redriven < instant for redriven in timeline.redrives_ns)
