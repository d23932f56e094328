"""A history in the making, which grows event by event, and the policy of the system that it could be of."""

from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from scenarios.judging.policy import Concurrency, Policy, Schedule
from scenarios.record.events import FINAL_LISTS, NS_PER_S, Event
from scenarios.record.history import History, Recorded
from tests.histories import events

END_S = 2000.0


WINDOWS: dict[str, dict[str, object]] = {
    kind: {"kind": kind, "n": 3, "per_s": 1} for kind in ("sliding", "fixed", "bucket")
}


def policy_with(window: str, schedules: dict[str, Schedule]) -> Policy:
    """What the model's system says of itself."""
    return Policy(
        attempts_max=3,
        delays_s=((1, 2), (2, 4)),
        tolerance_s=0.5,
        budget_s=1000,
        grace_s=1,
        window=WINDOWS[window],
        overtakes_max=30,
        renew_s=10,
        ends_at_deadline=True,
        key_window_s=1500,
        result_ttl_s=1200,
        wait_s={"1": 300},
        coalesce=True,
        concurrency=Concurrency("scope", 2),
        execution_window={"kind": "sliding", "n": 3, "per_s": 1, "by": "scope"},
        schedules=dict(schedules),
    )


@dataclass
class Draft:
    """A history that grows. Every event gets an instant of its own, in the order in which it was added within its second."""

    window: str = "sliding"
    audited: bool = False
    leased: bool = False
    events: list[Event] = field(default_factory=list)
    lists: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in FINAL_LISTS})
    end_s: float = END_S
    schedules: dict[str, Schedule] = field(default_factory=dict)

    @property
    def policy(self) -> Policy:
        """The limits to judge this history by."""
        return policy_with(self.window, self.schedules)

    def add(self, at_s: float, actor: str, event: str, **fields: Any) -> None:
        """One event."""
        instant = round(at_s * NS_PER_S) + len(self.events)
        self.events.append(Event(event=event, actor=actor, t_ns=instant, **fields))

    def write(self, *texts: str, from_s: float = 0) -> None:
        """The events of these lines, in the notation of tests/histories.py; their times count from `from_s`."""
        from_ns = round(from_s * NS_PER_S)
        for event in events(*texts):
            asked_ns = None if event.asked_ns is None else from_ns + event.asked_ns
            self.events.append(replace(event, t_ns=from_ns + event.t_ns + len(self.events), asked_ns=asked_ns))

    def all_events(self) -> list[Event]:
        """The events with the account at the end, in the order of time."""
        final = Event(
            event="final",
            actor="lab",
            t_ns=round(self.end_s * NS_PER_S) + len(self.events),
            healed=True,
            caught_up=True,
            **{name: tuple(tasks) for name, tasks in self.lists.items()},
        )
        return sorted([*self.events, final], key=lambda event: event.t_ns)

    def recorded(self) -> Recorded:
        """The history, as if it had been read."""
        return Recorded(History(self.all_events()))

    def row(self, at_s: float, task: str, before: str | None, after: str) -> None:
        """A row of the audit trail, where this system keeps one."""
        if self.audited:
            self.add(at_s, "database", "state", task=task, from_=before, to=after)

    def submit(self, at_s: float, task: str, answer: str = "ok", **fields: Any) -> None:
        """A submission and its answer; what was, or may have been, accepted gets its row."""
        self.add(at_s, "client", "submit.invoke", task=task, **fields)
        if answer != "fail":
            self.row(at_s + 0.01, task, None, "ACCEPTED")
        answered = {"id": f"id-{task}"} if answer == "ok" else {}
        self.add(at_s + 0.02, "client", f"submit.{answer}", task=task, **{**answered, **fields})

    def start(self, at_s: float, task: str, worker: str, number: int | None = 1) -> None:
        """A handler starts."""
        self.add(at_s, worker, "attempt.start", task=task, attempt=number)

    def succeed(
        self, at_s: float, task: str, worker: str, number: int | None = 1, *, effect: bool = True, ack: str = "ok"
    ) -> None:
        """A whole attempt that ends well: start, effect (accepted or refused), end, acknowledgement."""
        self.start(at_s, task, worker, number)
        kind = "effect" if effect else "effect.rejected"
        self.add(at_s + 0.2, worker, kind, task=task, attempt=number, fence=number)
        self.add(at_s + 0.3, worker, "attempt.ok", task=task, attempt=number, result=f"result of {task}")
        self.add(at_s + 0.31, worker, "ack.invoke", task=task, attempt=number)
        if ack != "none":
            self.add(at_s + 0.32, worker, f"ack.{ack}", task=task, attempt=number)

    def fail(self, at_s: float, task: str, worker: str, number: int | None, error: str = "transient") -> None:
        """A whole attempt that fails."""
        self.start(at_s, task, worker, number)
        self.add(at_s + 0.3, worker, "attempt.fail", task=task, attempt=number, error=error)

    def crash(self, at_s: float, task: str, worker: str, number: int | None) -> None:
        """An attempt that its worker does not survive."""
        self.start(at_s, task, worker, number)
        self.add(at_s + 0.3, worker, "crash")
        self.add(at_s + 0.5, worker, "restart")

    def fault(self, begun_s: float, healed_s: float, target: str = "broker", *, fault: str = "service_killed") -> None:
        """A fault that bit and healed."""
        for at_s, stage in ((begun_s, "begin"), (begun_s + 0.05, "bit"), (healed_s - 0.1, "end"), (healed_s, "healed")):
            self.add(at_s, "lab", f"fault.{stage}", fault=fault, target=target)


def run_once(draft: Draft, at_s: float, task: str) -> None:
    """One attempt, with its rows, and an end as done."""
    draft.row(at_s - 0.01, task, "ACCEPTED", "RUNNING")
    draft.succeed(at_s, task, f"{task}-worker")
    draft.row(at_s + 0.3, task, "RUNNING", "SUCCEEDED")
    draft.lists["done"].append(task)


def spawn(draft: Draft, at_s: float, task: str, **fields: Any) -> None:
    """The system makes a task itself, and carries it out."""
    draft.add(at_s, "database", "spawn", task=task, **fields)
    draft.row(at_s + 0.01, task, None, "ACCEPTED")
    run_once(draft, at_s + 0.2, task)
