"""The outcome of every submission of a run, made by any program: filled during the run, read by the drain and the status reader."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from scenarios.contract.system import Account, Cancel, Client, Outcome, Pause, Resume, SetSchedule, Submit
from scenarios.experiment.stage import Records, Signal
from scenarios.judging.policy import Schedule

_PROMISES = {Pause: "pause.ok", Resume: "resume.ok"}


class Submissions:
    """Outcomes by the lab's task names. Properties return copies, because submissions go on meanwhile.

    `answered` is notified after each submission has ended.
    """

    def __init__(self, records: Records, now_ns: Callable[[], int], answered: Signal) -> None:
        self._records = records
        self._now_ns = now_ns
        self.answered = answered
        self._lock = threading.Lock()  # held for no blocking call, so fibers can take it as well
        self._ids: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        """By id: the first task that was answered with it."""
        self._outcomes: dict[str, str] = {}
        self._acknowledged = 0
        self._answered = 0
        self._under_way = 0
        self._parents: dict[str, str] = {}
        """By task that the system has to make: the task that demands it when it is done."""
        self.last_detail = ""
        self.schedules: dict[str, Schedule] = {}
        """By name: those that clients have set up, with the instant of the first occurrence."""
        self.redriven_ns: dict[str, int] = {}
        """By task that a person has put back: when that was asked for."""

    def submit(self, client: Client, submit: Submit, actor: str) -> Outcome:
        """Submit once, and record it."""
        fields = {
            "task": submit.task,
            "user": submit.user,
            "key": submit.key,
            "order_key": submit.order_key,
            "priority": submit.priority,
            "scope": submit.scope,
        }
        # The system counts from the acceptance: after the request, and before the answer.
        due_s, steps = self._since_now(submit.due_s), submit.payload.get("steps", 1)
        self._records.record("submit.invoke", actor=actor, **fields, due_s=due_s, steps=steps)
        self._count_under_way(1)
        try:
            outcome = client.invoke(submit)
        finally:
            self._count_under_way(-1)
        is_possible = outcome.kind != "fail"
        self._records.record(
            f"submit.{outcome.kind}",
            actor=actor,
            **fields,
            id=outcome.id,
            detail=outcome.detail,
            due_s=self._since_now(submit.due_s) if is_possible else None,
            deadline_s=self._since_now(submit.deadline_s) if is_possible else None,
        )
        self.note(submit.task, outcome)
        if outcome.kind == "ok":
            with self._lock:
                self._parents.update(_parents_in(submit.task, submit.payload))
        return outcome

    def tell(
        self, client: Client, does: Pause | Resume | SetSchedule, actor: str, *, asked_ns: int, is_unsure: bool
    ) -> Outcome:
        """One deed of a person; what was promised is recorded, with the interval in which it came into force.

        `asked_ns`: when it was first asked for. `is_unsure`: an earlier try may have done it; a resumption that is refused then has
        taken place.
        """
        outcome = client.invoke(does)
        if outcome.kind == "ok" and isinstance(does, SetSchedule):
            first_s = self._now_ns() / 1e9 + does.every_s
            until_s = first_s + (does.times - 1) * does.every_s
            self.schedules[does.name] = Schedule(does.every_s, since_s=first_s, until_s=until_s)
        elif isinstance(does, Resume) and outcome.kind == "fail" and is_unsure:
            self._records.record(_PROMISES[Resume], actor=actor, scope=does.scope, asked_ns=asked_ns)
        elif outcome.kind == "ok" and not isinstance(does, SetSchedule):
            self._records.record(_PROMISES[type(does)], actor=actor, scope=does.scope, asked_ns=asked_ns)
        return outcome

    def cancel(self, client: Client, task: str, actor: str) -> None:
        """Cancel a task, and record it; without effect if the system has not answered with an id."""
        id_ = self.ids.get(task)
        if id_ is None:
            return
        self._records.record("cancel.invoke", actor=actor, task=task)
        outcome = client.invoke(Cancel(task, id_))
        self._records.record(f"cancel.{outcome.kind}", actor=actor, task=task, detail=outcome.detail)

    def note(self, task: str, outcome: Outcome) -> None:
        """Note the outcome of a submission that was recorded elsewhere."""
        with self._lock:
            if self._outcomes.get(task) != "ok":
                self._outcomes[task] = outcome.kind
            self._acknowledged += outcome.kind == "ok"
            self._answered += 1
            self.last_detail = outcome.detail or ""
            if outcome.id is not None and self._owners.setdefault(outcome.id, task) == task:
                self._ids[task] = outcome.id
            elif outcome.id is not None:
                self._outcomes.pop(task, None)  # answered with the id of another task, of the same key: it is that task
        self.answered.notify()

    def _count_under_way(self, change: int) -> None:
        with self._lock:
            self._under_way += change

    def _since_now(self, seconds: float | None) -> float | None:
        """An instant so many seconds from now, in seconds since the run began."""
        return None if seconds is None else self._now_ns() / 1e9 + seconds

    @property
    def ids(self) -> Mapping[str, str]:
        """The system's id of every task that was answered with one, in the order of the answers."""
        with self._lock:
            return dict(self._ids)

    @property
    def acknowledged(self) -> int:
        """Number of acknowledged submissions so far. A task that was submitted twice may count twice."""
        with self._lock:
            return self._acknowledged

    @property
    def answered_count(self) -> int:
        """Number of submissions that have ended so far, with any outcome."""
        with self._lock:
            return self._answered

    @property
    def under_way(self) -> int:
        """Number of submissions that have been asked for and not ended. Those that are recorded elsewhere do not count."""
        with self._lock:
            return self._under_way

    @property
    def outcomes(self) -> Mapping[str, str]:
        """The outcome of every task's submissions: ok if one was acknowledged, else that of the latest: fail or info.

        Without tasks that were answered with the id of another one.
        """
        with self._lock:
            return dict(self._outcomes)

    def awaited(self, account: Account) -> Mapping[str, str]:
        """`outcomes`, and as acknowledged the tasks that the system has to make of those that are done by this account."""
        done = set(account.done or ())
        with self._lock:
            demanded = {task: "ok" for task, parent in self._parents.items() if parent in done}
            return {**demanded, **self._outcomes}


def _parents_in(task: str, payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every task that a payload demands, and its children, each with the task that demands it."""
    demanded = [*payload.get("children", ()), *([payload["then"]] if "then" in payload else [])]
    for one in demanded:
        yield str(one["task"]), task
        yield from _parents_in(str(one["task"]), one)
