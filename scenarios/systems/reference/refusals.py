"""What the reference answers to cancellations and redrives, held against its own audit trail. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reference_impl.task import FINAL, HELD, TaskState
from scenarios.contract.system import Cancel, Redrive
from scenarios.record.history import FOREVER_NS, Event, History
from scenarios.simulated.inspection import Answer, Inspection

TOO_LATE = FINAL - {TaskState.CANCELLED}
"""Ended, so that a cancellation is refused."""


@dataclass(frozen=True, slots=True)
class TaskStates:
    """The states of one task in their order, as the audit trail has them."""

    states: Sequence[Event]

    def between(self, since_ns: int, until_ns: int) -> frozenset[str]:
        """Every state that it had at an instant of this interval, both ends included."""
        left_ns = [*(event.t_ns for event in self.states[1:]), FOREVER_NS]
        return frozenset(
            str(event.to)
            for event, end_ns in zip(self.states, left_ns, strict=True)
            if event.t_ns <= until_ns and end_ns >= since_ns
        )

    def was_cancelled(self, since_ns: int, until_ns: int) -> bool:
        """Whether it became CANCELLED without an attempt that held it: as only a request does."""
        return any(
            event.to == TaskState.CANCELLED and event.from_ not in HELD and since_ns <= event.t_ns <= until_ns
            for event in self.states
        )

    def was_taken(self, until_ns: int) -> bool:
        """Whether an attempt was taken from its worker, which may only be paused and go on with it."""
        claimed_by: dict[int | None, str | None] = {}
        for event in self.states:
            if event.t_ns > until_ns:
                break
            if event.from_ in HELD:
                if claimed_by.get(event.fence) != event.detail:
                    return True
            elif event.to == TaskState.RUNNING:
                claimed_by[event.fence] = event.detail
        return False


def wrong_answers(inspection: Inspection) -> Iterator[str]:
    """The answers to cancellations and redrives that the audit trail contradicts."""
    cancels = [(answer, does) for answer in inspection.answers if isinstance(does := answer.operation, Cancel)]
    redrives = [(answer, does) for answer in inspection.answers if isinstance(does := answer.operation, Redrive)]
    if not cancels and not redrives:
        return
    trails = _trails(inspection.history)
    for answer, cancel in cancels:
        is_alone = sum(other.task == cancel.task for _, other in cancels) == 1
        wrong = _wrong_about_cancel(answer, trails[cancel.task], is_alone=is_alone)
        if wrong:
            yield f"the cancellation of {cancel.task} was answered {_said(answer)}, {wrong}"
    yield from _wrongly_refused(inspection.history, redrives)


def _trails(history: History) -> Mapping[str, TaskStates]:
    states: dict[str, list[Event]] = {task: [] for task in history.tasks}
    for event in history.events:
        if event.event == "state" and event.task is not None:
            states.setdefault(event.task, []).append(event)
    return {task: TaskStates(events) for task, events in states.items()}


def _wrong_about_cancel(answer: Answer, trail: TaskStates, *, is_alone: bool) -> str:
    """Why this cannot be the answer, or nothing. `is_alone`: whether no other request has asked for this cancellation."""
    outcome = answer.outcome
    had = trail.between(answer.asked_ns, answer.answered_ns)
    if outcome.kind == "fail":
        if answer.has_code("404"):
            return "although it exists"
        if answer.has_code("409") and not had & TOO_LATE:
            return f"although it was {_listed(had)}"
        took_effect = is_alone and trail.was_cancelled(answer.asked_ns, answer.answered_ns)
        return "although it took effect" if took_effect else ""
    if outcome.id is None:
        return ""  # no answer of the system, or one that leaves it open
    was_taken = trail.was_taken(answer.answered_ns)
    if outcome.kind == "ok":
        if TaskState.CANCELLED not in had:
            return f"although it was {_listed(had)}"
        return "although a worker may go on with it" if was_taken else ""
    if had.intersection(HELD) or (TaskState.CANCELLED in had and was_taken):
        return ""
    return f"although no attempt of it was left: it was {_listed(had)}"


def _wrongly_refused(history: History, redrives: Sequence[tuple[Answer, Redrive]]) -> Iterator[str]:
    """A redrive finds the letter that was open when it was asked for, unless an earlier try may have taken it."""
    unsure: set[str] = set()
    for answer, redrive in redrives:
        task = redrive.task
        if answer.outcome.kind == "info":
            unsure.add(task)
        if answer.has_code("404") and task not in unsure and _has_letter(history, task, answer.asked_ns):
            yield f"the redrive of {task} was answered {_said(answer)}, although its letter was open"


def _has_letter(history: History, task: str, at_ns: int) -> bool:
    own = [event for event in history.events if event.task == task and event.t_ns < at_ns]
    return sum(event.event == "dead" for event in own) > sum(event.event == "redrive" for event in own)


def _said(answer: Answer) -> str:
    outcome = answer.outcome
    return f"«{outcome.detail}»" if outcome.detail else outcome.kind


def _listed(states: frozenset[str]) -> str:
    return ", ".join(sorted(states)) or "in no state"
