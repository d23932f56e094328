"""Premises: conditions on a run without which its verdicts mean nothing. Each is a frozen class. Pure.

An unmet premise makes the run unknown; promises that the record proves broken stay broken. The premises of a run are in its run.json,
so that `tasklab check` checks them again. To add one: a class here, and its name in PREMISES.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scenarios.record.history import Event, History, TaskTimeline, ns_of
from scenarios.record.run_facts import FaultRecord, RunFacts

ACKNOWLEDGED_SHARE_MIN = 0.1
"""Minimum share of acknowledged tasks among those submitted after the warm-up."""
UNSTATED_S = 2.0
"""Assumed duration of a lease or lock that a system does not state."""
NAME = "premise"
"""The field of a premise in run.json that names its class."""


@dataclass(frozen=True, slots=True)
class Premise(ABC):
    """One condition on a run."""

    @abstractmethod
    def unmet(self, history: History, facts: RunFacts) -> str:
        """Why the run does not meet it and what to change, in one sentence; empty if it does."""


@dataclass(frozen=True, slots=True)
class EnoughWork(Premise):
    """A minimum share of the tasks submitted after the warm-up was acknowledged, and at least one of them ended. For every run.

    An `info` answer is not an acknowledgement.
    """

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the counts in run.json, because a large history is not read whole."""
        work = facts.work
        if work is None:
            return ""  # an earlier version did not count
        if not work.submitted:
            return "too little work: no task was submitted after the warm-up; submit some"
        needed = max(1, math.ceil(work.submitted * ACKNOWLEDGED_SHARE_MIN))
        if work.acknowledged < needed:
            return (
                f"too little work: {work.acknowledged} of {work.submitted} tasks submitted after the warm-up were acknowledged, "
                f"and at least {needed} are needed; see the answers (submit.fail, submit.info) in the clients' history"
            )
        if not work.ended:
            return f"too little work: none of the {work.acknowledged} acknowledged tasks ended; let the system finish at least one"
        return ""


@dataclass(frozen=True, slots=True)
class WorkDuring(Premise):
    """While the fault of this name was on, at least `at_least` submissions were answered or attempts began."""

    fault: str
    at_least: int = 1

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the counts in run.json, because a large history is not read whole."""
        seen = sum((strike.answered or 0) + (strike.attempts or 0) for strike in _strikes(facts, self.fault))
        if seen >= self.at_least:
            return ""
        return (
            f"{seen} submissions were answered and attempts begun while {self.fault} was on, and at least {self.at_least} are "
            "needed: submit more tasks a second, or let the fault last longer"
        )


@dataclass(frozen=True, slots=True)
class OpenDuring(Premise):
    """While the fault of this name was on, a submission was under way: it had been asked for, and was not answered yet."""

    fault: str

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the submissions and their answers."""
        spans = [(_bit_ns(strike), strike.ended_ns or history.last_ns) for strike in _strikes(facts, self.fault)]
        for line in history.tasks.values():
            for asked_ns, answered_ns in _open_submissions(line, history.last_ns):
                if any(asked_ns <= until and answered_ns >= since for since, until in spans):
                    return ""
        return f"no submission was under way while {self.fault} was on: submit more tasks a second, or let the fault last longer"


@dataclass(frozen=True, slots=True)
class TaskTakenOver(Premise):
    """A task whose process was paused during an attempt got another attempt before the first one had failed."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the attempts of the paused processes."""
        strikes = list(_strikes(facts, "process_paused"))
        if any(_was_taken_over(line, strike) for line in history.tasks.values() for strike in strikes):
            return ""
        unmet = f"no attempt took over the task of {_targets(strikes)} during its pause: "
        stated_s = facts.pace.get("lease_s")
        if stated_s is None:
            return f"{unmet}{facts.system} states no lease; state one (Pace.lease_s), so that the pause outlasts it"
        return f"{unmet}state a lease (Pace.lease_s, now {stated_s:g} s) that is as long as the system's own"


@dataclass(frozen=True, slots=True)
class LockTakenOver(Premise):
    """A lock held by a process when it was paused was acquired again before the process released it."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the leases on resources that are not tasks."""
        strikes = list(_strikes(facts, "process_paused"))
        locks = [events for name, events in history.leases.items() if not _is_of_task(name, history)]
        if any(_was_acquired_again(events, strike) for events in locks for strike in strikes):
            return ""
        unmet = f"no lock that {_targets(strikes)} held was acquired again after its pause: "
        stated_s = facts.pace.get("lock_s")
        if stated_s is None:
            return f"{unmet}{facts.system} states no duration of its lock; state it (Pace.lock_s), so that the pause outlasts it"
        return f"{unmet}state a duration (Pace.lock_s, now {stated_s:g} s) that is as long as the lock's own, and report its leases"


@dataclass(frozen=True, slots=True)
class KilledAfterEffect(Premise):
    """A killed process had an accepted effect, and the end of that attempt is not recorded."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the effects and attempts of the killed processes."""
        strikes = list(_strikes(facts, "process_killed"))
        if any(_acted_and_died(line, strike) for line in history.tasks.values() for strike in strikes):
            return ""
        return (
            f"when {_targets(strikes)} was killed, no task of it had an accepted effect and an attempt without a recorded end: "
            "let each handler run its task through tasklab_probe.run_task"
        )


@dataclass(frozen=True, slots=True)
class AckOfKnownTask(Premise):
    """A lost acknowledgement belongs to a task that had run, or a task ran again after the loss."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By `ack.info`, and by the attempts after the bite."""
        strikes = list(_strikes(facts, "ack_swallowed"))
        # By the broker: those of a process tell what it had in hand when a connection of it ended.
        unsure = (event for event in history.events if event.event == "ack.info" and event.actor == "broker")
        lost = (event.task for event in unsure)
        if any(task in history.tasks and history.tasks[task].ran for task in lost):
            return ""
        if any(_ran_again(line, strike) for line in history.tasks.values() for strike in strikes):
            return ""
        return (
            f"the acknowledgement that {_targets(strikes)} lost belongs to no known task, and no task ran again: "
            "put the task's name or its id into the message"
        )


@dataclass(frozen=True, slots=True)
class LostAtWork(Premise):
    """A process that was lost for good had begun an attempt that was never recorded to have ended."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the attempts of the lost processes."""
        strikes = list(_strikes(facts, "process_lost"))
        attempts = [attempt for line in history.tasks.values() for attempt in line.attempts if attempt.ended_ns is None]
        if any(attempt.actor == strike.target for attempt in attempts for strike in strikes):
            return ""
        return (
            f"{_targets(strikes)} was not running a task when it was lost: let each handler run its task through "
            "tasklab_probe.run_task"
        )


@dataclass(frozen=True, slots=True)
class LeaseOutlasted(Premise):
    """An attempt that ended by itself had worked for longer than the lease that the system states, or than its leases are by its record."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the longest attempt."""
        of_tasks = (events for name, events in history.leases.items() if _is_of_task(name, history))
        told_s = max((event.ttl_s or 0.0 for events in of_tasks for event in events), default=0.0)
        lease_s = max(facts.pace.get("lease_s", UNSTATED_S), told_s)
        attempts = [attempt for line in history.tasks.values() for attempt in line.attempts]
        lasted_s = max(
            ((one.ended_ns - one.started_ns) / 1e9 for one in attempts if one.ended_ns is not None), default=0.0
        )
        if lasted_s > lease_s:
            return ""
        return (
            f"the longest attempt lasted {lasted_s:.3g} s, no longer than a lease of {lease_s:g} s: let the handler work for the time "
            "that its payload states, or state the lease (Pace.lease_s) that the system has"
        )


@dataclass(frozen=True, slots=True)
class Seen(Premise):
    """Events of this name were recorded, `at_least` so many; of failed attempts, those with this `error`."""

    event: str
    at_least: int = 1
    error: str | None = None

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the events that are there."""
        seen = sum(
            one.event == self.event and (self.error is None or one.error == self.error) for one in history.events
        )
        if seen >= self.at_least:
            return ""
        what = self.event if self.error is None else f"{self.event} ({self.error})"
        return (
            f"{seen} events {what} were recorded, and at least {self.at_least} are needed: the workload did not come to what the "
            "scenario is about; let the plug-in carry out what its capabilities state, or submit more tasks"
        )


@dataclass(frozen=True, slots=True)
class DiedOfTask(Premise):
    """A process ended by itself with a task in hand, or a child of it did, as tasks that kill their worker make it do."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the counts in run.json, or if there are none, by the crashes; and by the attempts without an end of these processes."""
        died = history.crashes if facts.died is None else {name for name, count in facts.died.items() if count}
        attempts = (attempt for line in history.tasks.values() for attempt in line.attempts)
        with_task = any(attempt.ended_ns is None and attempt.actor in died for attempt in attempts)
        if with_task or any(facts.killed_by_task.values()):
            return ""
        return (
            "no process ended by itself with a task in hand: let each handler run its task, in the worker's process, through "
            "tasklab_probe.run_task"
        )


@dataclass(frozen=True, slots=True)
class CancelledInTime(Premise):
    """Cancellations were acknowledged of `at_least` tasks of which no attempt had ended well by then: they changed something."""

    at_least: int = 1

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the first acknowledgement of each task."""
        seen = sum(_was_cancelled_in_time(line) for line in history.tasks.values())
        if seen >= self.at_least:
            return ""
        return (
            f"{seen} tasks were cancelled before they were done, and at least {self.at_least} are needed: answer ok to the cancellation "
            "of a task that waits, or let tasks wait longer (fewer workers, more tasks a second)"
        )


@dataclass(frozen=True, slots=True)
class DeadlinePassed(Premise):
    """The deadline of `at_least` acknowledged tasks passed before they had begun, or while they ran."""

    at_least: int = 1

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the deadlines, and the starts and ends of attempts."""
        seen = sum(_outlived_its_deadline(line, history.end_ns) for line in history.tasks.values())
        if seen >= self.at_least:
            return ""
        return (
            f"the deadlines of {seen} tasks passed before the tasks were done, and at least {self.at_least} are needed: let tasks wait "
            "longer (fewer workers, more tasks a second)"
        )


PREMISES: Mapping[str, type[Premise]] = {
    kind.__name__: kind
    for kind in (
        EnoughWork,
        WorkDuring,
        OpenDuring,
        TaskTakenOver,
        LockTakenOver,
        KilledAfterEffect,
        AckOfKnownTask,
        LostAtWork,
        LeaseOutlasted,
        Seen,
        DiedOfTask,
        CancelledInTime,
        DeadlinePassed,
    )
}
"""Every premise by its name in run.json."""


def stated_premises(premises: Iterable[Premise]) -> list[dict[str, Any]]:
    """The premises in the form of run.json."""
    return [{NAME: type(premise).__name__, **asdict(premise)} for premise in premises]


def unmet_premises(history: History, facts: RunFacts) -> list[str]:
    """Why the run does not meet its premises, one sentence for each."""
    return list(dict.fromkeys(filter(None, _answers(history, facts))))


def _answers(history: History, facts: RunFacts) -> Iterator[str]:
    for stated in facts.premises:
        fields = {name: value for name, value in stated.items() if name != NAME}
        kind = PREMISES.get(str(stated.get(NAME)))
        try:
            premise = kind(**fields) if kind is not None else None
        except TypeError:
            premise = None
        if premise is None:
            yield f"run.json states an unknown premise: {stated.get(NAME)}; judge the run with the version of the lab that wrote it"
        else:
            yield premise.unmet(history, facts)


def _open_submissions(line: TaskTimeline, last_ns: int) -> Iterator[tuple[int, int]]:
    """When each submission was asked for, and when its client was answered, or the record ends."""
    for place, asked in enumerate(line.submissions):
        if asked.event == "submit.invoke":
            later = (event for event in line.submissions[place + 1 :] if event.actor == asked.actor)
            yield asked.t_ns, next((event.t_ns for event in later if event.event != "submit.invoke"), last_ns)


def _strikes(facts: RunFacts, fault: str) -> Iterator[FaultRecord]:
    return (strike for strike in facts.strikes if strike.fault == fault and strike.bit_ns is not None)


def _targets(strikes: Sequence[FaultRecord]) -> str:
    return ", ".join(dict.fromkeys(strike.target for strike in strikes)) or "a process"


def _was_taken_over(line: TaskTimeline, strike: FaultRecord) -> bool:
    bit_ns = _bit_ns(strike)
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
    bit_ns = _bit_ns(strike)
    before = [event for event in events if event.t_ns <= bit_ns]
    if not before or before[-1].actor != strike.target or before[-1].event == "lease.released":
        return False
    following = next((event for event in events if event.t_ns > bit_ns and event.event != "lease.renewed"), None)
    return following is not None and following.event == "lease.acquired"


def _acted_and_died(line: TaskTimeline, strike: FaultRecord) -> bool:
    bit_ns = _bit_ns(strike)
    acted = any(effect.actor == strike.target and effect.t_ns <= bit_ns for effect in line.effects)
    return acted and any(
        attempt.actor == strike.target and attempt.started_ns <= bit_ns and (attempt.ended_ns or bit_ns) >= bit_ns
        for attempt in line.attempts
    )


def _ran_again(line: TaskTimeline, strike: FaultRecord) -> bool:
    return any(attempt.started_ns > _bit_ns(strike) for attempt in line.attempts[1:])


def _was_cancelled_in_time(line: TaskTimeline) -> bool:
    ended_ns = min(
        (one.ended_ns for one in line.attempts if one.outcome == "ok" and one.ended_ns is not None), default=None
    )
    return line.cancelled_ns is not None and (ended_ns is None or line.cancelled_ns < ended_ns)


def _outlived_its_deadline(line: TaskTimeline, end_ns: int) -> bool:
    if line.deadline_s is None or not line.acknowledged or ns_of(line.deadline_s) > end_ns:
        return False
    deadline_ns = ns_of(line.deadline_s)
    return not any(one.ended_ns is not None and one.ended_ns <= deadline_ns for one in line.attempts)


def _is_of_task(resource: str, history: History) -> bool:
    return resource.startswith("task:") or resource in history.tasks


def _bit_ns(strike: FaultRecord) -> int:
    assert strike.bit_ns is not None, "only strikes that bit are used"
    return strike.bit_ns
