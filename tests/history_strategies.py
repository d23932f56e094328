"""Histories in the making: what a well-behaved task system could have recorded, drawn by Hypothesis from a small model."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.history_drafts import WINDOWS, Draft
from tests.history_parts import PARTS

TROUBLES = ("transient", "crash", "killed", "paused", "lost_ack", "lease", "fault")


ENDED_WELL = ("lost_ack", "fault")
"""Troubles of a task that had succeeded all the same."""


ENDS = (
    *("done", "done", "done", "exhausted", "permanent", "poison", "cancelled", "expired"),
    *("redriven", "absent", "refused", "resurrected"),
)


EXTRAS = ("key", "due", "deadline", "progress", "status", "order", "priority", "two_steps", "steps", "numberless")


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
    if "steps" in life.extras:
        fields["steps"] = 2 if "two_steps" in life.extras else 1
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
        if self.draft.leased and kind in ("killed", "paused"):
            kind = "lease"  # where the task is leased, nobody takes it before its lease has run out
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
            case "killed":  # its broker delivers again as soon as the connection is gone, long before the restart
                draft.crash(at_s, self.task, self.worker, self.name)
                self._move(at_s + 0.31, "RETRYING")
                self.at_s += 0.35
            case "paused":  # it stands still until its broker, which tells nothing of leases, gives the task to another
                draft.start(at_s, self.task, self.worker, self.name)
                draft.fault(at_s + 0.05, at_s + 6.9, self.worker, fault="process_paused")
                self._move(at_s + 5.9, "RETRYING")
                draft.add(at_s + 7, self.worker, "effect.rejected", task=self.task, fence=self.number)
                draft.add(at_s + 7.1, self.worker, "attempt.fail", task=self.task, attempt=self.name, error="transient")
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
