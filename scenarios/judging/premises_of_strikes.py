"""Premises on the strikes of a run: what their faults must have met. Each is a frozen class. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios.judging.premise import Premise, bit_ns_of, is_of_task, strikes_of, targets_of
from scenarios.record.history import Event, History, TaskTimeline
from scenarios.record.run_facts import FaultRecord, RunFacts


@dataclass(frozen=True, slots=True)
class WorkDuring(Premise):
    """While the fault of this name was on, at least `at_least` submissions were under way, or attempts began.

    A client that waits for an answer until the fault is over has met it as well. `or_waited`: so do acknowledged tasks that had had no
    effect when the fault bit, if what was struck may hold them.
    """

    fault: str
    at_least: int = 1
    or_waited: bool = False

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the counts in run.json, because a large history is not read whole."""
        strikes = list(strikes_of(facts, self.fault))
        seen = sum((one.answered or 0) + (one.under_way or 0) + (one.attempts or 0) for one in strikes)
        if self.or_waited:
            seen += sum(one.waiting or 0 for one in strikes)
        if seen >= self.at_least:
            return ""
        return (
            f"{seen} submissions were under way and attempts begun while {self.fault} was on, and at least {self.at_least} are "
            "needed: submit more tasks a second, or let the fault last longer"
        )


@dataclass(frozen=True, slots=True)
class OpenDuring(Premise):
    """While the fault of this name was on, a submission was under way: it had been asked for, and was not answered yet."""

    fault: str

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the submissions and their answers."""
        spans = _spans_of(facts, self.fault, history)
        for line in history.tasks.values():
            for asked_ns, answered_ns in _open_submissions(line, history.last_ns):
                if any(asked_ns <= until and answered_ns >= since for since, until in spans):
                    return ""
        return f"no submission was under way while {self.fault} was on: submit more tasks a second, or let the fault last longer"


@dataclass(frozen=True, slots=True)
class Waiting(Premise):
    """When the fault of this name bit, `at_least` acknowledged tasks had not begun."""

    fault: str
    at_least: int = 1

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the acknowledgements and the first attempts."""
        bites = [bit_ns_of(strike) for strike in strikes_of(facts, self.fault)]
        seen = sum(any(_waited_at(bit_ns, line) for bit_ns in bites) for line in history.tasks.values())
        if seen >= self.at_least:
            return ""
        return (
            f"{seen} acknowledged tasks had not begun when {self.fault} bit, and at least {self.at_least} are needed: submit more tasks a "
            "second, or let them work longer"
        )


@dataclass(frozen=True, slots=True)
class FailedDuring(Premise):
    """While the fault of this name was on, `at_least` attempts failed, so that retries were due to be published."""

    fault: str
    at_least: int = 1

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the ends of attempts."""
        spans = _spans_of(facts, self.fault, history)
        failed = [one for line in history.tasks.values() for one in line.attempts if one.outcome == "fail"]
        seen = sum(any(since <= (one.ended_ns or 0) <= until for since, until in spans) for one in failed)
        if seen >= self.at_least:
            return ""
        return (
            f"{seen} attempts failed while {self.fault} was on, and at least {self.at_least} are needed: let more tasks fail, or let "
            "the fault last longer"
        )


@dataclass(frozen=True, slots=True)
class StruckAtWork(Premise):
    """A process struck by the fault of this name had an attempt in hand between its begin and its bite."""

    fault: str

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the attempts of the struck processes."""
        strikes = list(strikes_of(facts, self.fault))
        attempts = [attempt for line in history.tasks.values() for attempt in line.attempts]
        for strike in strikes:
            bit_ns = bit_ns_of(strike)
            begun_ns = strike.begun_ns or bit_ns
            begun = (one for one in attempts if one.actor == strike.target and one.started_ns <= bit_ns)
            if any(one.ended_ns is None or one.ended_ns >= begun_ns for one in begun):
                return ""
        return (
            f"no task was running in {targets_of(strikes)} when {self.fault} struck: submit more tasks a second, or let them work "
            "longer; and let each handler run its task through tasklab_probe.run_task"
        )


@dataclass(frozen=True, slots=True)
class TaskTakenOver(Premise):
    """A task whose process was paused during an attempt got another attempt before the first one had failed."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the attempts of the paused processes."""
        strikes = list(strikes_of(facts, "process_paused"))
        if any(_was_taken_over(line, strike) for line in history.tasks.values() for strike in strikes):
            return ""
        unmet = f"no attempt took over the task of {targets_of(strikes)} during its pause: "
        stated_s = facts.pace.get("lease_s")
        if stated_s is None:
            return f"{unmet}{facts.system} states no lease; state one (Pace.lease_s), so that the pause outlasts it"
        return f"{unmet}state a lease (Pace.lease_s, now {stated_s:g} s) that is as long as the system's own"


@dataclass(frozen=True, slots=True)
class LockTakenOver(Premise):
    """A lock held by a process when it was paused was acquired again before the process released it."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the leases on resources that are not tasks."""
        strikes = list(strikes_of(facts, "process_paused"))
        locks = [events for name, events in history.leases.items() if not is_of_task(name, history)]
        if any(_was_acquired_again(events, strike) for events in locks for strike in strikes):
            return ""
        unmet = f"no lock that {targets_of(strikes)} held was acquired again after its pause: "
        stated_s = facts.pace.get("lock_s")
        if stated_s is None:
            return f"{unmet}{facts.system} states no duration of its lock; state it (Pace.lock_s), so that the pause outlasts it"
        return f"{unmet}state a duration (Pace.lock_s, now {stated_s:g} s) that is as long as the lock's own, and report its leases"


@dataclass(frozen=True, slots=True)
class KilledAfterEffect(Premise):
    """A killed process had an accepted effect, and the end of that attempt is not recorded."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the effects and attempts of the killed processes."""
        strikes = list(strikes_of(facts, "process_killed"))
        if any(_acted_and_died(line, strike) for line in history.tasks.values() for strike in strikes):
            return ""
        return (
            f"when {targets_of(strikes)} was killed, no task of it had an accepted effect and an attempt without a recorded end: "
            "let each handler run its task through tasklab_probe.run_task"
        )


@dataclass(frozen=True, slots=True)
class AckOfKnownTask(Premise):
    """A lost acknowledgement belongs to a task that had run, or a task ran again after the loss."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By `ack.info`, and by the attempts after the bite."""
        strikes = list(strikes_of(facts, "ack_swallowed"))
        # By the broker: those of a process tell what it had in hand when a connection of it ended.
        unsure = (event for event in history.events if event.event == "ack.info" and event.actor == "broker")
        lost = (event.task for event in unsure)
        if any(task in history.tasks and history.tasks[task].ran for task in lost):
            return ""
        if any(_ran_again(line, strike) for line in history.tasks.values() for strike in strikes):
            return ""
        return (
            f"the acknowledgement that {targets_of(strikes)} lost belongs to no known task, and no task ran again: "
            "put the task's name or its id into the message"
        )


@dataclass(frozen=True, slots=True)
class LostAtWork(Premise):
    """A process that was lost for good, or lost a child (`fault`), had begun an attempt that was never recorded to have ended."""

    fault: str = "process_lost"

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the attempts of the lost processes."""
        strikes = list(strikes_of(facts, self.fault))
        attempts = [attempt for line in history.tasks.values() for attempt in line.attempts if attempt.ended_ns is None]
        if any(attempt.actor == strike.target for attempt in attempts for strike in strikes):
            return ""
        return (
            f"{targets_of(strikes)} lost no running task: let each handler run its task through tasklab_probe.run_task"
        )


def _spans_of(facts: RunFacts, fault: str, history: History) -> list[tuple[int, int]]:
    """For each strike of this fault, its bite and its end, in ns; the end of the record if it has none."""
    return [(bit_ns_of(strike), strike.ended_ns or history.last_ns) for strike in strikes_of(facts, fault)]


def _open_submissions(line: TaskTimeline, last_ns: int) -> Iterator[tuple[int, int]]:
    """When each submission was asked for, and when its client was answered, or the record ends."""
    for place, asked in enumerate(line.submissions):
        if asked.event == "submit.invoke":
            later = (event for event in line.submissions[place + 1 :] if event.actor == asked.actor)
            yield asked.t_ns, next((event.t_ns for event in later if event.event != "submit.invoke"), last_ns)


def _waited_at(at_ns: int, line: TaskTimeline) -> bool:
    acknowledged = any(event.event == "submit.ok" and event.t_ns <= at_ns for event in line.submissions)
    return acknowledged and not any(attempt.started_ns <= at_ns for attempt in line.attempts)


def _was_taken_over(line: TaskTimeline, strike: FaultRecord) -> bool:
    bit_ns = bit_ns_of(strike)
    for first in line.attempts:
        if first.actor != strike.target or first.started_ns > bit_ns:
            continue
        if first.ended_ns is not None and first.ended_ns < bit_ns:
            continue
        failed_ns = first.ended_ns if first.outcome == "fail" else None
        later = (one for one in line.attempts if one is not first and one.started_ns > bit_ns)
        if any(failed_ns is None or one.started_ns < failed_ns for one in later):
            return True
    return False


def _was_acquired_again(events: Sequence[Event], strike: FaultRecord) -> bool:
    bit_ns = bit_ns_of(strike)
    before = [event for event in events if event.t_ns <= bit_ns]
    if not before or before[-1].actor != strike.target or before[-1].event == "lease.released":
        return False
    following = next((event for event in events if event.t_ns > bit_ns and event.event != "lease.renewed"), None)
    return following is not None and following.event == "lease.acquired"


def _acted_and_died(line: TaskTimeline, strike: FaultRecord) -> bool:
    bit_ns = bit_ns_of(strike)
    acted = any(effect.actor == strike.target and effect.t_ns <= bit_ns for effect in line.effects)
    return acted and any(
        attempt.actor == strike.target and attempt.started_ns <= bit_ns and (attempt.ended_ns or bit_ns) >= bit_ns
        for attempt in line.attempts
    )


def _ran_again(line: TaskTimeline, strike: FaultRecord) -> bool:
    return any(attempt.started_ns > bit_ns_of(strike) for attempt in line.attempts[1:])
