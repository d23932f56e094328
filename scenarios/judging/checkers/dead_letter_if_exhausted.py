"""Dead if and only if the attempts are used up or the error is permanent (rules 8 and 20). Four kinds of violation.

Early: dead, by a dead letter or by the final list only, with attempts left and no permanent failure; or without any attempt, for
another reason than `permanent` or `poison`. Missing: after the last of `attempts_max` failed attempts, or after a permanent error,
there is no `dead` and no final listing as failed. Both: dead and done. Letters: if the system records dead letters or states
`dead_letters`, not exactly one for each transition to DEAD. A redrive gives a new budget. An attempt of a task that ended otherwise
decides nothing if another attempt had already replaced it, or if its worker may have been unable to report it: its lease had expired,
or the worker crashed, was paused or was cut off before the next attempt.
"""

from scenarios.judging.checkers.poison_bounded import attempts_by_round
from scenarios.judging.disturbances import first_crash_ns
from scenarios.judging.endings import decides_nothing, is_done
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import AttemptRecord, Event, History, TaskTimeline

_NEEDS_NO_ATTEMPT = frozenset({"permanent", "poison"})


def check(history: History, policy: Policy) -> Findings:
    """Tasks that became dead too early, not at all, twice, or although they had succeeded."""
    lists = history.lists
    has_letters = bool(policy.dead_letters) or any(timeline.deads for timeline in history.tasks.values())
    violations: list[Violation] = []
    exercised = 0
    undecided = ""
    for timeline in history.tasks.values():
        failures = [attempt for attempt in timeline.attempts if attempt.outcome == "fail"]
        is_dead = (
            bool(timeline.deads)
            or timeline.task in lists.dead
            or (has_letters and _transitions_to(timeline, "DEAD") > 0)
        )
        if not failures and not is_dead and not timeline.failures_without_start:
            continue
        used_up = policy.attempts_max is not None and len(failures) >= policy.attempts_max
        exercised += is_dead or used_up or any(policy.is_permanent(failure.error) for failure in failures)
        found = [
            *_both(history, timeline, policy),
            *_early(timeline, policy),
            *_early_by_the_list(history, timeline, policy),
        ]
        found = found or (_letters(timeline) if has_letters else [])
        violations.extend(found or _missing(history, timeline, failures, policy))
        if policy.attempts_max is None and any(dead.reason == "exhausted" for dead in timeline.deads):
            undecided = "a task is dead as exhausted, but the policy states no attempts_max"
    for task in sorted(lists.done & lists.dead - history.tasks.keys()):
        violations.append(Violation(task, Proof.END, "listed both as dead and as done"))
    figures = {"dead": sum(len(timeline.deads) for timeline in history.tasks.values()), "wrong": len(violations)}
    return Findings(tuple(violations), exercised=exercised, undecided=undecided, figures=figures)


def _transitions_to(timeline: TaskTimeline, state: str) -> int:
    return sum(row.to == state for row in timeline.states)


def _letters(timeline: TaskTimeline) -> list[Violation]:
    """One dead letter for each transition to DEAD in the audit trail; a transition to FAILED may have one."""
    dead, failed, letters = _transitions_to(timeline, "DEAD"), _transitions_to(timeline, "FAILED"), len(timeline.deads)
    most = dead + failed or 1 + len(timeline.redrives_ns)
    if not timeline.states or dead <= letters <= most:
        return []
    what = f"{letters} dead letters for {dead} transitions to DEAD"
    return [Violation(timeline.task, Proof.RECORD if letters > most else Proof.END, what)]


def _both(history: History, timeline: TaskTimeline, policy: Policy) -> list[Violation]:
    lists = history.lists
    last_round = len(timeline.redrives_ns)
    if not timeline.deads and timeline.task not in lists.dead:
        return []
    successes = [attempt for attempt in timeline.attempts if attempt.outcome == "ok"]
    deciding = [attempt for attempt in successes if not decides_nothing(history, timeline, attempt, policy)]
    rounds_ok = {attempt.round for attempt in deciding}
    if timeline.succeeded and not successes:
        rounds_ok = {last_round}
    rounds_dead = {timeline.round_of(dead.t_ns) for dead in timeline.deads}
    if rounds_ok & rounds_dead:
        return [Violation(timeline.task, Proof.EVENTS, "dead, although an attempt of it succeeded")]
    listed_dead = timeline.task in lists.dead
    done_now = (
        last_round in rounds_ok
        or timeline.task in lists.done
        or (not history.records_ends and _has_lasting_effect(history, timeline))
    )
    if (listed_dead and done_now) or (last_round in rounds_dead and timeline.task in lists.done):
        return [Violation(timeline.task, Proof.END, "both dead and done at the end")]
    return []


def _has_lasting_effect(history: History, timeline: TaskTimeline) -> bool:
    """In a history without ends of attempts: whether a worker had an effect, and did not crash before the next attempt or the death."""

    def until_ns(effect: Event) -> int:
        following = timeline.first_start_after(effect.t_ns)
        deaths_ns = (dead.t_ns for dead in timeline.deads if dead.t_ns >= effect.t_ns)
        return min([history.end_ns if following is None else following.started_ns, *deaths_ns])

    return any(
        first_crash_ns(history, effect.actor, effect.t_ns, until_ns(effect)) is None for effect in timeline.effects
    )


def _early(timeline: TaskTimeline, policy: Policy) -> list[Violation]:
    """A dead letter while attempts were left."""
    seen = attempts_by_round(timeline) if timeline.deads else []
    for dead in timeline.deads:
        attempts = seen[timeline.round_of(dead.t_ns)]
        if attempts == 0:
            assert dead.attempts is not None
            attempts = dead.attempts
        if attempts == 0 and dead.reason not in _NEEDS_NO_ATTEMPT:
            return [Violation(timeline.task, Proof.RECORD, f"dead as {dead.reason} without any attempt")]
        if policy.attempts_max is not None and dead.reason == "exhausted" and attempts < policy.attempts_max:
            what = f"dead as exhausted after {attempts} of {policy.attempts_max} attempts"
            return [Violation(timeline.task, Proof.RECORD, what)]
    return []


def _early_by_the_list(history: History, timeline: TaskTimeline, policy: Policy) -> list[Violation]:
    """Listed as dead without a dead letter, a permanent failure or used-up attempts."""
    last_round = len(timeline.redrives_ns)
    if timeline.task not in history.lists.dead or not timeline.is_submitted:
        return []
    if any(timeline.round_of(dead.t_ns) == last_round for dead in timeline.deads):
        return []
    failures: list[AttemptRecord | Event] = [one for one in timeline.attempts if one.round == last_round]
    failures += timeline.failures_without_start
    if any(policy.is_permanent(failure.error) for failure in failures):
        return []
    attempts = max(attempts_by_round(timeline)[last_round], len(timeline.failures_without_start))
    needed = 1 if policy.attempts_max is None else policy.attempts_max
    if attempts >= needed:
        return []
    what = "without any attempt" if attempts == 0 else f"after {attempts} of {needed} attempts"
    return [Violation(timeline.task, Proof.END, f"listed as dead {what}, without a dead letter")]


def _missing(
    history: History, timeline: TaskTimeline, failures: list[AttemptRecord], policy: Policy
) -> list[Violation]:
    lists = history.lists
    if timeline.task in lists.dead or timeline.task in lists.cancelled or timeline.task in lists.expired:
        return []
    used_up = policy.attempts_max is not None and len(failures) >= policy.attempts_max
    if not used_up and not any(policy.is_permanent(failure.error) for failure in failures):
        return []
    done = is_done(history, timeline, policy)
    succeeded_ns: dict[int, int] = {}
    for attempt in timeline.attempts:
        if attempt.outcome == "ok" and attempt.ended_ns is not None:
            succeeded_ns[attempt.round] = min(attempt.ended_ns, succeeded_ns.get(attempt.round, attempt.ended_ns))
    by_round: dict[int, int] = {}
    rounds_dead = _rounds_dead(timeline) if failures else frozenset()
    for failure in failures:
        assert failure.ended_ns is not None
        if failure.ended_ns > succeeded_ns.get(failure.round, failure.ended_ns):
            continue  # it had succeeded before: a failure of a repeat needs no dead letter
        if done and decides_nothing(history, timeline, failure, policy):
            continue
        count = by_round[failure.round] = by_round.get(failure.round, 0) + 1
        is_permanent = policy.is_permanent(failure.error)
        is_last = is_permanent or (policy.attempts_max is not None and count == policy.attempts_max)
        if is_last and failure.round not in rounds_dead:
            why = "a permanent error" if is_permanent else f"{count} failed attempts"
            return [Violation(timeline.task, Proof.END, f"{why} and no dead letter")]
    return []


def _rounds_dead(timeline: TaskTimeline) -> frozenset[int]:
    """The rounds that a dead letter or a transition to FAILED ended."""
    ended_ns = [dead.t_ns for dead in timeline.deads]
    ended_ns += [row.t_ns for row in timeline.states if row.to == "FAILED"]
    return frozenset(map(timeline.round_of, ended_ns))
