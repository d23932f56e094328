"""Premises: conditions on a run without which its verdicts mean nothing. Each is a frozen class. Pure.

An unmet premise makes the run unknown; promises that the record proves broken stay broken. The premises of a run are in its run.json,
so that `tasklab check` checks them again. To add one: a class here or (on the strikes of a run) in premises_of_strikes.py, and its
name in PREMISES.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from scenarios.judging.premise import UNSTATED_S, Premise, is_of_task
from scenarios.judging.premises_of_strikes import (
    AckOfKnownTask,
    FailedDuring,
    KilledAfterEffect,
    LockTakenOver,
    LostAtWork,
    OpenDuring,
    StruckAtWork,
    TaskTakenOver,
    Waiting,
    WorkDuring,
)
from scenarios.record.history import History, TaskTimeline, ns_of
from scenarios.record.run_facts import RunFacts

ACKNOWLEDGED_SHARE_MIN = 0.1
"""Minimum share of acknowledged tasks among those submitted after the warm-up."""
NAME = "premise"
"""The field of a premise in run.json that names its class."""


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
class LeaseOutlasted(Premise):
    """An attempt that ended by itself had worked for longer than the lease that the system states, or than its leases are by its record."""

    def unmet(self, history: History, facts: RunFacts) -> str:
        """By the longest attempt."""
        of_tasks = (events for name, events in history.leases.items() if is_of_task(name, history))
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
        Waiting,
        FailedDuring,
        StruckAtWork,
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
