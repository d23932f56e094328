"""Histories in the making: what a well-behaved task system could have recorded, drawn by Hypothesis from a small model."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
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

    def fault(self, begun_s: float, healed_s: float, target: str = "broker") -> None:
        """A fault that bit and healed."""
        for at_s, stage in ((begun_s, "begin"), (begun_s + 0.05, "bit"), (healed_s - 0.1, "end"), (healed_s, "healed")):
            self.add(at_s, "lab", f"fault.{stage}", fault="service_killed", target=target)


TROUBLES = ("transient", "crash", "lost_ack", "lease", "fault")
ENDED_WELL = ("lost_ack", "fault")
"""Troubles of a task that had succeeded all the same."""
ENDS = (
    *("done", "done", "done", "exhausted", "permanent", "poison", "cancelled", "expired"),
    *("redriven", "absent", "refused", "resurrected"),
)
EXTRAS = ("key", "due", "deadline", "progress", "status", "order", "priority", "two_steps", "numberless")


@dataclass(frozen=True)
class Life:
    """How one task fares: where it ends, what troubles came before, and what else is known of it."""

    end: str
    troubles: tuple[str, ...]
    extras: frozenset[str]
    begin_s: float


lives = st.builds(
    Life,
    end=st.sampled_from(ENDS),
    troubles=st.lists(st.sampled_from(TROUBLES), max_size=2).map(tuple),
    extras=st.frozensets(st.sampled_from(EXTRAS), max_size=4),
    begin_s=st.integers(0, 200).map(lambda tenths: tenths / 2),
)


ANY = st.booleans()


@st.composite
def legal_drafts(draw: st.DrawFn, audited: st.SearchStrategy[bool] = ANY) -> Draft:
    """A history in which every promise is held."""
    draft = Draft(window=draw(st.sampled_from(sorted(WINDOWS))), audited=draw(audited), leased=draw(ANY))
    live(draft, "plain", Life("done", (), frozenset(), 1.0))
    for number, life in enumerate(draw(st.lists(lives, min_size=1, max_size=6))):
        live(draft, f"task-{number}", life)
    for part in draw(st.frozensets(st.sampled_from(sorted(PARTS)), max_size=4)):
        PARTS[part](draft)
    return draft


def live(draft: Draft, task: str, life: Life) -> None:
    """Write down the life of one task."""
    begin_s = life.begin_s
    fields = _stated(task, life, begin_s)
    match life.end:
        case "absent":
            draft.add(begin_s, "client", "submit.invoke", task=task, **fields)
            draft.add(begin_s + 0.02, "client", "submit.info", task=task, **fields)
            return
        case "refused":
            draft.submit(begin_s, task, "fail", **fields)
            return
        case "cancelled":
            draft.submit(begin_s, task, **fields)
            draft.add(begin_s + 0.1, "client", "cancel.invoke", task=task)
            draft.row(begin_s + 0.15, task, "ACCEPTED", "CANCELLED")
            draft.add(begin_s + 0.2, "client", "cancel.ok", task=task)
            _read(draft, begin_s + 0.3, task, life, "CANCELLED")
            draft.lists["cancelled"].append(task)
            return
        case "expired":
            draft.submit(begin_s, task, **{**fields, "deadline_s": begin_s + 1})
            draft.row(begin_s + 2, task, "ACCEPTED", "EXPIRED")
            _read(draft, begin_s + 3, task, life, "EXPIRED")
            draft.lists["expired"].append(task)
            return
    if life.end == "resurrected":  # refused once, accepted by a second try: its first answer counts for nothing
        draft.add(begin_s - 0.4, "client", "submit.invoke", task=task, **fields)
        draft.add(begin_s - 0.3, "client", "submit.fail", task=task, **fields)
    draft.submit(begin_s, task, **fields)
    if "status" in life.extras:
        draft.add(begin_s + 0.05, "reader", "status", task=task, state="ACCEPTED")
    _run(draft, task, life, begin_s + (5.2 if "due" in life.extras else 0.5))
    if "key" in life.extras:  # handed in again: the same answer, and no task of its own
        draft.add(begin_s + 0.3, "client", "submit.invoke", task=f"{task}-again", **fields)
        draft.add(begin_s + 0.4, "client", "submit.ok", task=f"{task}-again", id=f"id-{task}", **fields)


def _stated(task: str, life: Life, begin_s: float) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if "key" in life.extras:
        fields |= {"key": f"key-{task}", "user": "user"}
    if "due" in life.extras:
        fields["due_s"] = begin_s + 5
    if "deadline" in life.extras:
        fields["deadline_s"] = begin_s + 1000
    if "order" in life.extras and "due" not in life.extras:
        fields["order_key"] = "order"
    if "priority" in life.extras:
        fields["priority"] = 1
    return fields


def _read(draft: Draft, at_s: float, task: str, life: Life, state: str) -> None:
    if "status" in life.extras:
        told = {"result": f"result of {task}"} if state == "SUCCEEDED" else {}
        draft.add(at_s, "reader", "status", task=task, state=state, **told)
        draft.add(at_s + 0.1, "reader", "status", task=task, state=state, **told)


def _run(draft: Draft, task: str, life: Life, at_s: float) -> None:
    """The attempts of a task that runs, and its end."""
    troubles = {
        "exhausted": ("transient", "transient"),
        "poison": ("crash", "crash"),
        **dict.fromkeys(("permanent", "redriven"), tuple(one for one in life.troubles if one not in ENDED_WELL)),
    }.get(life.end, life.troubles)
    runner = _Runner(draft, task, life, at_s)
    for trouble in troubles:
        runner.trouble(trouble)
    match life.end:
        case "exhausted":
            runner.give_up("transient", "exhausted", "dead", "DEAD")
        case "poison":
            runner.die()
        case "permanent":
            runner.give_up("permanent", "permanent", "dead", "FAILED")
        case "redriven":
            runner.give_up("permanent", "permanent", "", "DEAD")
            runner.redrive()
            runner.finish()
        case _:
            runner.finish()


@dataclass
class _Runner:
    draft: Draft
    task: str
    life: Life
    at_s: float
    number: int = 1
    has_effect: bool = False
    state: str = "ACCEPTED"

    @property
    def worker(self) -> str:
        return f"{self.task}-worker-{self.number}"

    @property
    def name(self) -> int | None:
        return None if "numberless" in self.life.extras else self.number

    def trouble(self, kind: str) -> None:
        """One attempt that is followed by another, and why."""
        draft, at_s = self.draft, self.at_s
        self._take(release=kind in ("transient", "lost_ack", "fault"), always=kind == "lease")
        match kind:
            case "transient":
                draft.fail(at_s, self.task, self.worker, self.name)
                self._move(at_s + 0.35, "RETRYING")
                self.at_s += 0.3 + (1.5 if self.number == 1 else 3)
            case "crash":
                draft.crash(at_s, self.task, self.worker, self.name)
                self._move(at_s + 5.9, "RETRYING")
                self.at_s += 6
            case "lease":
                draft.start(at_s, self.task, self.worker, self.name)
                self._move(at_s + 5.9, "RETRYING")
                draft.add(at_s + 7, self.worker, "effect.rejected", task=self.task, fence=self.number)
                draft.add(at_s + 7.1, self.worker, "attempt.fail", task=self.task, attempt=self.name, error="transient")
                self.at_s += 6
            case "lost_ack" | "fault":
                if kind == "fault":
                    draft.fault(at_s - 0.1, at_s + 2)
                ack = "info" if kind == "lost_ack" else "none"
                draft.succeed(at_s, self.task, self.worker, self.name, effect=not self.has_effect, ack=ack)
                self.has_effect = True
                self._move(at_s + 0.29, "SUCCEEDED")
                self.at_s += 3
        self.number += 1

    def finish(self) -> None:
        """The last attempt, a good one."""
        self._take(release=True, always=False)
        if "progress" in self.life.extras:
            for percent in (10, 50, 50, 90):
                self.draft.add(
                    self.at_s + 0.01 + percent / 1000,
                    self.worker,
                    "progress",
                    task=self.task,
                    attempt=self.name,
                    percent=percent,
                )
        self.draft.succeed(self.at_s, self.task, self.worker, self.name, effect=not self.has_effect)
        if "two_steps" in self.life.extras:
            self.draft.add(self.at_s + 0.25, self.worker, "effect", task=self.task, step=2, fence=self.number)
        self._move(self.at_s + 0.29, "SUCCEEDED")
        _read(self.draft, self.at_s + 0.4, self.task, self.life, "SUCCEEDED")
        self.draft.lists["done"].append(self.task)

    def give_up(self, error: str, reason: str, listed: str, state: str) -> None:
        """The last attempt, a failing one, and the dead letter."""
        self._take(release=True, always=False)
        self.draft.fail(self.at_s, self.task, self.worker, self.name, error)
        self.bury(reason, state, listed=listed)

    def die(self) -> None:
        """The last attempt, which kills its worker once more, and the dead letter."""
        self._take(release=False, always=False)
        self.draft.crash(self.at_s, self.task, self.worker, self.name)
        self.at_s += 6
        self.bury("poison", "DEAD")

    def bury(self, reason: str, state: str, *, listed: str = "dead") -> None:
        """The dead letter."""
        self._move(self.at_s + 0.4, state)
        self.draft.add(self.at_s + 0.4, "database", "dead", task=self.task, attempts=self.number, reason=reason)
        if listed:
            self.draft.lists[listed].append(self.task)
            _read(self.draft, self.at_s + 0.6, self.task, self.life, state)

    def redrive(self) -> None:
        """A person puts it back."""
        self.draft.add(self.at_s + 2, "person", "redrive", task=self.task)
        self._move(self.at_s + 2.1, "ACCEPTED")
        self.number += 1
        self.at_s += 3

    def _take(self, *, release: bool, always: bool) -> None:
        """The row that says RUNNING, and the lease where leases are kept (and `always` where it is about to run out)."""
        self._move(self.at_s - 0.02, "RUNNING")
        if self.draft.leased or always:
            fields = {"resource": self.task, "fence": self.number}
            self.draft.add(self.at_s - 0.01, self.worker, "lease.acquired", ttl_s=5, **fields)
            if release:
                self.draft.add(self.at_s + 0.33, self.worker, "lease.released", **fields)

    def _move(self, at_s: float, state: str) -> None:
        if self.state == "SUCCEEDED":
            return
        self.draft.row(at_s, self.task, self.state, state)
        self.state = state


def _lock(draft: Draft) -> None:
    """A lock that is renewed, handed over, run out and fenced."""
    draft.write(
        """
        10    leader-1  lease.acquired  resource=lock:sweep  fence=1  ttl_s=5
        14    leader-1  lease.renewed   resource=lock:sweep  fence=1  ttl_s=5
        15    leader-1  write           resource=swept       fence=1
        18    leader-1  lease.released  resource=lock:sweep  fence=1
        18.5  leader-2  lease.acquired  resource=lock:sweep  fence=2  ttl_s=5
        19    leader-2  write           resource=swept       fence=2
        24    leader-1  lease.acquired  resource=lock:sweep  fence=3  ttl_s=5
        25    leader-1  write           resource=swept       fence=3
        26    leader-2  write.rejected  resource=swept       fence=2
        """
    )


def _limit(draft: Draft) -> None:
    """A limiter that lets through what every kind of window allows."""
    for burst in range(3):
        for part in range(3):
            draft.write(f"{2 * burst + part / 10} api allowed limit=tasks user=user")
        draft.write(f"{2 * burst + 0.21} api denied limit=tasks user=user")


def _pause(draft: Draft) -> None:
    """A pause in which only what had been claimed before still starts."""
    draft.write("300 admin pause.ok", "310 admin resume.ok")
    for number, at_s in enumerate((300.5, 310.5)):
        task = f"around-pause-{number}"
        draft.submit(299, task)
        draft.row(at_s - 0.01, task, "ACCEPTED", "RUNNING")
        draft.succeed(at_s, task, "worker")
        draft.row(at_s + 0.3, task, "RUNNING", "SUCCEEDED")
        draft.lists["done"].append(task)


def _late_for_a_reason(draft: Draft) -> None:
    """A scheduled task that a fault held up."""
    draft.fault(400, 420, "mysql")
    draft.submit(390, "held-up", due_s=405.0)
    draft.row(424, "held-up", "ACCEPTED", "RUNNING")
    draft.succeed(425, "held-up", "worker")
    draft.row(425.3, "held-up", "RUNNING", "SUCCEEDED")
    draft.lists["done"].append("held-up")


def _secrets(draft: Draft) -> None:
    """A search that finds nothing."""
    draft.write("600 lab secret.sought target=logs")


def _run_once(draft: Draft, at_s: float, task: str) -> None:
    """One attempt, with its rows, and an end as done."""
    draft.row(at_s - 0.01, task, "ACCEPTED", "RUNNING")
    draft.succeed(at_s, task, f"{task}-worker")
    draft.row(at_s + 0.3, task, "RUNNING", "SUCCEEDED")
    draft.lists["done"].append(task)


def spawn(draft: Draft, at_s: float, task: str, **fields: Any) -> None:
    """The system makes a task itself, and carries it out."""
    draft.add(at_s, "database", "spawn", task=task, **fields)
    draft.row(at_s + 0.01, task, None, "ACCEPTED")
    _run_once(draft, at_s + 0.2, task)


def _scoped(draft: Draft) -> None:
    """Two of one scope at once, and three starts within a second: as many as are allowed."""
    for number, at_s in enumerate((650.0, 650.1, 650.6)):
        task = f"scoped-{number}"
        draft.submit(649, task, scope="mail")
        _run_once(draft, at_s, task)


def _scheduled(draft: Draft) -> None:
    """A schedule of which one run of occurrences was missed: only the newest of it came later."""
    draft.schedules["report"] = Schedule(every_s=10, since_s=700, until_s=760, catch_up="last")
    draft.fault(715, 745, "mysql")
    for due_s, at_s in ((700, 700.1), (710, 710.1), (740, 746), (750, 750.1), (760, 760.1)):
        spawn(draft, at_s, f"report-{due_s}", schedule="report", due_s=float(due_s))


def _children(draft: Draft) -> None:
    """A task that the system made out of another one."""
    draft.submit(620, "parent")
    _run_once(draft, 621, "parent")
    spawn(draft, 622, "child", parent="parent")


def _coalesced(draft: Draft) -> None:
    """Folded into a task that begins again; another one, after the start, is a task of its own."""
    fields = {"key": "coalesced", "user": "user"}
    draft.submit(670, "folding", **fields)
    draft.row(670.9, "folding", "ACCEPTED", "RUNNING")
    draft.fail(671, "folding", "worker", 1)
    draft.row(671.35, "folding", "RUNNING", "RETRYING")
    draft.add(671.4, "client", "submit.invoke", task="folded", **fields)
    draft.add(671.5, "client", "submit.ok", task="folded", id="id-folding", **fields)
    draft.row(672.7, "folding", "RETRYING", "RUNNING")
    draft.succeed(672.8, "folding", "worker", 2)
    draft.row(673.2, "folding", "RUNNING", "SUCCEEDED")
    draft.lists["done"].append("folding")
    draft.submit(674, "separate", **fields)
    _run_once(draft, 675, "separate")


PARTS = {
    "lock": _lock,
    "limit": _limit,
    "pause": _pause,
    "late_for_a_reason": _late_for_a_reason,
    "secrets": _secrets,
    "scoped": _scoped,
    "scheduled": _scheduled,
    "children": _children,
    "coalesced": _coalesced,
}
"""What else may be in a legal history."""
