"""The outside resource, the target of effects: the lab owns it, so it knows what really happened, and can delay an answer."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from scenarios.experiment.stage import Records, Signal
from scenarios.record.events import Whole

Point = Literal["attempt", "leader", "effect", "write", "death"]
"""Where a process under test can be caught: an attempt began, a leader works, an effect or a write was decided."""
TASK_POINTS = frozenset({"attempt", "effect"})


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request of a process under test; which fields are used depends on `op`."""

    op: Literal["arrive", "effect", "write"]
    actor: str
    point: Point | None = None
    subject: str | None = None
    task: str | None = None
    step: Whole | str = 1
    attempt: Whole | None = None
    key: str | None = None
    resource: str | None = None
    fence: Whole | None = None


@dataclass(frozen=True, slots=True)
class OutsideCounts:
    """Counts of the outside resource so far.

    `duplicates`: accepted effects beyond one for each task and step. `repeats`: attempts beyond one for each task, for any reason.
    """

    effects: int = 0
    duplicates: int = 0
    repeats: int = 0


@dataclass(slots=True)
class Ledger:
    """Accepts or refuses requests, and records them; atomic under the caller's lock."""

    recorder: Records
    checks_fences: bool = True
    _keys: set[str] = field(default_factory=set)
    _fences: dict[str, int] = field(default_factory=dict)
    _arrivals: Counter[tuple[str, str]] = field(default_factory=Counter)
    _effects: Counter[tuple[str, int | str]] = field(default_factory=Counter)
    _attempts: dict[tuple[str, str], int] = field(default_factory=dict)
    tasks_with_effect: set[str] = field(default_factory=set)
    counts: OutsideCounts = field(default_factory=OutsideCounts)

    def decide(self, request: Request) -> dict[str, object]:
        """The answer to one request; its event is on disk before the answer is sent."""
        if request.op == "arrive":
            place = (str(request.point), str(request.subject))
            self._arrivals[place] += 1
            if request.point == "attempt" and self._arrivals[place] > 1:
                self.counts = replace(self.counts, repeats=self.counts.repeats + 1)
            return {"count": self._arrivals[place]}
        if request.op == "effect":
            return {"accepted": self._decide_effect(request)}
        return {"accepted": self._decide_write(request)}

    def attempt_of(self, task: str, actor: str) -> int | None:
        """The attempt number of this process's latest effect request for the task, or None if unknown."""
        return self._attempts.get((task, actor))

    def _decide_effect(self, request: Request) -> bool:
        assert request.task is not None
        if request.attempt is not None:
            self._attempts[request.task, request.actor] = request.attempt
        repeated = request.key is not None and request.key in self._keys
        accepted = not repeated and self._fence_is_current(f"task:{request.task}", request.fence)
        if accepted:
            self.tasks_with_effect.add(request.task)
            self._count_effect(request.task, request.step)
            if request.key is not None:
                self._keys.add(request.key)
        self.recorder.record(
            "effect" if accepted else "effect.rejected",
            actor=request.actor,
            task=request.task,
            step=request.step,
            attempt=request.attempt,
            fence=request.fence,
            key=request.key,
        )
        return accepted

    def _count_effect(self, task: str, step: int | str) -> None:
        self._effects[task, step] += 1
        again = self._effects[task, step] > 1
        self.counts = replace(
            self.counts, effects=self.counts.effects + 1, duplicates=self.counts.duplicates + (1 if again else 0)
        )

    def _decide_write(self, request: Request) -> bool:
        assert request.resource is not None
        accepted = self._fence_is_current(f"resource:{request.resource}", request.fence)
        self.recorder.record(
            "write" if accepted else "write.rejected",
            actor=request.actor,
            resource=request.resource,
            fence=request.fence,
        )
        return accepted

    def _fence_is_current(self, subject: str, fence: int | None) -> bool:
        """A request without a fence is always accepted: only a system that passes its fence is protected against stale holders."""
        if fence is None or not self.checks_fences:
            return True
        if fence < self._fences.get(subject, fence):
            return False
        self._fences[subject] = fence
        return True


class SyncPoint:
    """Delays the answer to the `nth` request of the run at a point until released: its process is caught in exactly that phase.

    `actor` and `subject`: the caught process, and its task or resource; empty until then.
    """

    def __init__(self, point: Point, nth: int, make_signal: Callable[[], Signal]) -> None:
        self.point = point
        self.nth = nth
        self.actor = ""
        self.subject = ""
        self.is_reached = False
        self.is_released = False
        self.reached = make_signal()
        self._released = make_signal()

    def release(self) -> None:
        """Send the answer. Idempotent."""
        self.is_released = True
        self._released.notify()

    def hold(self, actor: str, subject: str) -> None:
        """Record the caught process, and block it until released."""
        self.actor = actor
        self.subject = subject
        self.is_reached = True
        self.reached.notify()
        self._released.wait_until(lambda: self.is_released)


class Outside:
    """The outside resource: the ledger, counts of requests, and sync points that delay answers. Safe for many flows.

    `counted` is notified after each request. `checks_fences`: False for a resource that accepts requests of stale holders.
    """

    def __init__(
        self,
        records: Records,
        now_ns: Callable[[], int],
        make_signal: Callable[[], Signal],
        *,
        checks_fences: bool = True,
    ) -> None:
        self._ledger = Ledger(records, checks_fences)
        self._now_ns = now_ns
        self._make_signal = make_signal
        self._lock = threading.Lock()  # held for no blocking call, so fibers can take it as well
        self._counts: Counter[str] = Counter()
        self._points: list[SyncPoint] = []
        self._deaths_planned: Counter[str] = Counter()
        self.deaths: Counter[str] = Counter()
        """By process: how often a task that was planned to kill it has done so."""
        self._last_ns = now_ns()
        self.counted = make_signal()

    def release_all(self) -> None:
        """Release every sync point."""
        with self._lock:
            points = list(self._points)
        for point in points:
            point.release()

    def plan_deaths(self, planned: Mapping[str, int]) -> None:
        """How often each task is to kill the process that runs it: no other death is believed that a process announces."""
        with self._lock:
            self._deaths_planned.update(planned)

    def note_death(self, actor: str, task: str, asked_ns: int) -> None:
        """A process that had announced its death has hung up; recorded as a crash if that was planned.

        The lab sees the end of the processes that it has started. A system may run its handlers in children of these.
        """
        with self._lock:
            if self._deaths_planned[task] <= 0:
                return
            self._deaths_planned[task] -= 1
            self._ledger.recorder.record(
                "crash", actor=actor, asked_ns=asked_ns, detail=f"killed by {task}, as planned"
            )
            self.deaths[actor] += 1  # last: it is read without the lock, and then the record has the crash
        self.counted.notify()

    def now_ns(self) -> int:
        """On the clock of the run."""
        return self._now_ns()

    def arm(self, point: Point, nth: int) -> SyncPoint:
        """A sync point at the `nth` request at `point` from now on."""
        with self._lock:
            sync_point = SyncPoint(point, self._counts[point] + nth, self._make_signal)
            self._points.append(sync_point)
        return sync_point

    def count(self, point: Point) -> int:
        """Number of requests at `point` so far."""
        with self._lock:
            return self._counts[point]

    def held_at(self, actor: str) -> tuple[Point, ...]:
        """The points at which this process is held now."""
        with self._lock:
            return tuple(one.point for one in self._points if one.actor == actor and not one.is_released)

    def attempt_of(self, task: str, actor: str) -> int | None:
        """The attempt number of this process's latest effect request for the task, or None if unknown."""
        with self._lock:
            return self._ledger.attempt_of(task, actor)

    def tasks_with_effect(self) -> tuple[str, ...]:
        """The tasks with an accepted effect, sorted."""
        with self._lock:
            return tuple(sorted(self._ledger.tasks_with_effect))

    def counts(self) -> OutsideCounts:
        """Effects, duplicates and repeated attempts so far."""
        with self._lock:
            return self._ledger.counts

    def quiet_s(self) -> float:
        """Seconds since the last start or effect of a task; periodic work of leaders does not count."""
        return (self._now_ns() - self._last_ns) / 1e9

    def answer(self, request: Request) -> dict[str, object]:
        """Decide under the lock; then, outside it, wait at a sync point if the request has reached one."""
        point: str = request.point or request.op
        with self._lock:
            reply = self._ledger.decide(request)
            if point in TASK_POINTS:
                self._last_ns = self._now_ns()
            nth = self._counts[point] = self._counts[point] + 1
            reached = [one for one in self._points if one.point == point and one.nth == nth] if self._points else ()
        self.counted.notify()
        for sync_point in reached:
            sync_point.hold(request.actor, request.task or request.subject or request.resource or "")
        return reply
