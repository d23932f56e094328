"""The lab's part inside a worker under test: the recorder, the client of the outside resource, and the lab's handler.

One file, standard library only. The lab copies only this file onto the worker's PYTHONPATH, so that it works in any virtual
environment with any versions. Four variables configure it:

    TASKLAB_RUN       the run directory: events are appended to history.ACTOR.PID.jsonl in it
    TASKLAB_ACTOR     the name of this process in the history
    TASKLAB_T0_NS     when the run began, on this machine's monotonic clock
    TASKLAB_OUTSIDE   host:port of the outside resource that effects go to

A handler under test is one line:  tasklab_probe.run_task(payload, attempt=n, key=idempotency_key, fence=fence)
An asynchronous one:               await tasklab_probe.run_task_async(payload, attempt=n, key=idempotency_key, fence=fence)
An effect of a task's own code:    tasklab_probe.effect(key=idempotency_key)
A lease, as its holder sees it:    with tasklab_probe.lease("orders", fence=fence, ttl_s=30.0) as held: ...; held.renewed()
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Tuple

ASK_EVERY_S = 0.1  # how often a handler asks whether to stop
TOLD_TO_STOP = "told to stop"
OUTSIDE_TIMEOUT_S = 120.0  # longer than any pause by the lab: a delayed reply must not look like a failure


class TaskError(Exception):
    """The handler failed as its payload demanded, or was told to stop; `kind`: transient, permanent or unknown."""

    def __init__(self, kind: str, task: str, why: str = "as planned") -> None:
        super().__init__(f"{kind} failure of task {task}, {why}")
        self.kind, self.task, self.why = kind, task, why

    def __reduce__(self) -> Tuple[Any, ...]:
        """For systems that pickle exceptions between processes: the message alone is not enough to construct a copy."""
        return type(self), (self.kind, self.task, self.why)


def digest(result: str) -> str:
    """What a history says of a result."""
    return hashlib.sha256(result.encode()).hexdigest()[:16]


class Recorder:
    """Appends events to one file with one write for each event, so that kill -9 loses no recorded event."""

    def __init__(self, path: str, actor: str, t0_ns: int) -> None:
        self.actor = actor
        self._t0_ns = t0_ns
        self._order = threading.RLock()  # held from timestamp to write: in one file, time never goes back
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def now_ns(self) -> int:
        """Nanoseconds since the run began."""
        return time.monotonic_ns() - self._t0_ns

    def record(self, event: str, **fields: Any) -> None:
        """Append one event with the present time. `actor` among the fields overrides this process. Fields that are None are left out."""
        with self._order:
            line: Dict[str, Any] = {"t_ns": self.now_ns(), "actor": self.actor, "event": event}
            line.update((name, value) for name, value in fields.items() if value is not None)
            self.append(line)

    def append(self, line: Mapping[str, Any]) -> None:
        """Append an event that has its own time and actor."""
        content = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        if os.write(self._file, content) != len(content):
            raise OSError("the history could not be written completely; is the disk full?")

    def close(self) -> None:
        """Close the file; all recorded events are already in it."""
        os.close(self._file)


class Outside:
    """A connection to the outside resource of the lab: one request, one reply, in order."""

    def __init__(self, address: str, actor: str) -> None:
        host, _, port = address.rpartition(":")
        self._actor = actor
        self._socket = socket.create_connection((host, int(port)), timeout=OUTSIDE_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._replies = self._socket.makefile("rb")

    def arrive(self, point: str, subject: str) -> int:
        """Report that this process has reached a point; the number of times that `subject` has reached it, this one included.

        The lab may delay the reply: this is a sync point for its faults.
        """
        return int(self._ask(op="arrive", point=point, subject=subject)["count"])

    def effect(
        self,
        task: str,
        *,
        step: int = 1,
        attempt: Optional[int] = None,
        key: Optional[str] = None,
        fence: Optional[int] = None,
    ) -> bool:
        """Whether the effect was accepted. Refused: its key, or a newer fence, was seen before."""
        return bool(self._ask(op="effect", task=task, step=step, attempt=attempt, key=key, fence=fence)["accepted"])

    def write(self, resource: str, *, fence: Optional[int] = None) -> bool:
        """Whether the write was accepted. Refused: a newer fence was accepted before."""
        return bool(self._ask(op="write", resource=resource, fence=fence)["accepted"])

    def _ask(self, **request: Any) -> Dict[str, Any]:
        request["actor"] = self._actor
        self._socket.sendall(json.dumps(request, separators=(",", ":")).encode() + b"\n")
        reply = self._replies.readline()
        if not reply.endswith(b"\n"):
            raise ConnectionError("the outside resource closed the connection")
        answer: Dict[str, Any] = json.loads(reply)
        if "error" in answer:
            raise ValueError("the outside resource refused the request: " + str(answer["error"]))
        return answer


class Lease:
    """Records a lease or lock of this process in the history: a context manager, or its three methods. Thread-safe.

    Record it from the inside: call `acquired` after the system has granted it, and `released` before the process releases it.
    Renewals after `released` are not recorded.
    """

    def __init__(
        self, record: Callable[..., None], resource: str, fence: Optional[int], ttl_s: float, asked_ns: Optional[int]
    ) -> None:
        self._record = record
        self._resource = resource
        self._fence = fence
        self._ttl_s = ttl_s
        self._asked_ns = asked_ns
        self._lock = threading.Lock()
        self._held = False

    def acquired(self) -> None:
        """The process holds it."""
        with self._lock:
            self._held = True
            self._record_event("lease.acquired", ttl_s=self._ttl_s, asked_ns=self._asked_ns)

    def renewed(self, *, ttl_s: Optional[float] = None, asked_ns: Optional[int] = None) -> None:
        """The lease was renewed: for `ttl_s` seconds from now, or its first duration."""
        with self._lock:
            if self._held:
                self._record_event("lease.renewed", ttl_s=self._ttl_s if ttl_s is None else ttl_s, asked_ns=asked_ns)

    def released(self) -> None:
        """The process is about to release it. Recorded once."""
        with self._lock:
            if self._held:
                self._held = False
                self._record_event("lease.released")

    def __enter__(self) -> Lease:
        self.acquired()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.released()

    def _record_event(self, event: str, **fields: Any) -> None:
        self._record(event, resource=self._resource, fence=self._fence, **fields)


class Probe:
    """The recorder and the outside resource of this process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        actor = environment["TASKLAB_ACTOR"]
        path = os.path.join(environment["TASKLAB_RUN"], "history." + actor + "." + str(os.getpid()) + ".jsonl")
        self.recorder = Recorder(path, actor, int(environment["TASKLAB_T0_NS"]))
        self._address = environment["TASKLAB_OUTSIDE"]
        self._local = threading.local()

    @property
    def outside(self) -> Outside:
        """The calling thread's own connection."""
        connection = getattr(self._local, "outside", None)
        if connection is None:
            connection = self._local.outside = Outside(self._address, self.recorder.actor)
        return connection

    def record(self, event: str, **fields: Any) -> None:
        """Append one event to this process's history."""
        self.recorder.record(event, **fields)

    def run_task(
        self,
        payload: Mapping[str, Any],
        *,
        attempt: Optional[int] = None,
        key: Optional[str] = None,
        fence: Optional[int] = None,
        report: Optional[Callable[[str, int], None]] = None,
        should_stop: Optional[Callable[[], bool]] = None,
    ) -> Dict[str, Any]:
        """The handler of the lab: record the attempt, work for a while, have the effects, record the end.

        `payload`: "task" (its name), "work_s" (duration of the work), "steps" (number of effects, default 1), "reports" (number of
        progress reports, default 1), "stops" (whether it asks `should_stop` between parts of its work), "outcomes" (per try: "ok",
        "transient", "permanent", "unknown" or "die"; "ok" after the end of the list). `attempt`: the system's number of the attempt,
        if it has one. `key`: the idempotency key for the outside resource (the step is appended). `fence`: the fencing token.
        `report(step, percent)`: called by the handler to report its progress to the system.

        Returns what the handler gives to its system: "task"; "result" (a text) if the payload has a "result_size"; "children" (payloads
        to submit) and "then" (a payload to run after all children) if the payload has them.

        Raises:
            TaskError: the payload demanded a failure, or the system told the handler to stop.
        """
        task = str(payload["task"])
        with self._recorded(task, attempt) as handed_back:
            tries = self.outside.arrive("attempt", task)
            handed_back.update(_handed_back(payload, tries))
            for do, what in self._work(
                task, payload, tries, attempt=attempt, key=key, fence=fence, report=report, should_stop=should_stop
            ):
                if do == "rest":
                    self._rest(what)
                else:
                    what()
        return handed_back

    async def run_task_async(self, payload: Mapping[str, Any], **options: Any) -> Dict[str, Any]:
        """`run_task` for a handler that is a coroutine: it does not block the event loop, and `report` may be a coroutine function."""
        import asyncio  # not at the top: most workers do not need it

        async def wait_for(call: Callable[[], Any]) -> Any:
            return await asyncio.get_running_loop().run_in_executor(None, call)

        task = str(payload["task"])
        with self._recorded(task, options.get("attempt")) as handed_back:
            tries = await wait_for(lambda: self.outside.arrive("attempt", task))
            handed_back.update(_handed_back(payload, tries))
            for do, what in self._work(task, payload, tries, **options):
                if do == "rest":
                    await asyncio.sleep(what)
                elif do == "outside":
                    await wait_for(what)
                else:
                    reported = what()
                    if hasattr(reported, "__await__"):
                        await reported
        return handed_back

    def lease(
        self, resource: str, *, ttl_s: float, fence: Optional[int] = None, asked_ns: Optional[int] = None
    ) -> Lease:
        """A lease on `resource`, for a lease on a task its name. `asked_ns`: `recorder.now_ns()` before the request to the system."""
        return Lease(self.record, resource, fence, ttl_s, asked_ns)

    @contextmanager
    def _recorded(self, task: str, attempt: Optional[int]) -> Iterator[Dict[str, Any]]:
        """Around an attempt: its start, and its end. Given is the dictionary of what the handler hands back."""
        handed_back: Dict[str, Any] = {}
        self.record("attempt.start", task=task, attempt=attempt)
        try:
            yield handed_back
        except BaseException as error:
            # Every exception, also the system's own cancellation exceptions: the attempt has ended.
            kind = error.kind if isinstance(error, TaskError) else "unknown"
            self.record("attempt.fail", task=task, attempt=attempt, error=kind, detail=str(error)[:200])
            raise
        result = handed_back.get("result")
        self.record(
            "attempt.ok",
            task=task,
            attempt=attempt,
            result=None if result is None else digest(result),
            children=[str(child["task"]) for child in handed_back.get("children", ())] or None,
            then=str(handed_back["then"]["task"]) if "then" in handed_back else None,
        )

    def spawned(self, task: str, **fields: Any) -> None:
        """The system has made a task itself: `parent`, or `schedule` and `due_s` (seconds since the run began), and what else it has.

        For a system that does not say so in its trail. Call it when the task is the system's for good, and cannot be lost any more.
        """
        self.record("spawn", task=task, **fields)

    def _work(
        self,
        task: str,
        payload: Mapping[str, Any],
        tries: int,
        *,
        attempt: Optional[int] = None,
        key: Optional[str] = None,
        fence: Optional[int] = None,
        report: Optional[Callable[[str, int], Any]] = None,
        should_stop: Optional[Callable[[], bool]] = None,
    ) -> Iterator[Tuple[str, Any]]:
        """The steps of the handler: ("rest", seconds), ("report", call) or ("outside", call). `tries`: number of its starts."""
        reports = int(payload.get("reports", 1))
        part_s = float(payload.get("work_s", 0.0)) / (reports + 1)
        asks = should_stop if payload.get("stops") else None
        yield from _rests(task, part_s, asks)
        for number in range(1, reports + 1):
            percent = 100 * number // (reports + 1)
            if report is not None:
                self.record("progress", task=task, attempt=attempt, percent=percent)
                name = "half-way" if reports == 1 else "part " + str(number)
                yield "report", lambda name=name, percent=percent: report(name, percent)
            yield from _rests(task, part_s, asks)
        outcomes = payload.get("outcomes") or ()
        outcome = outcomes[tries - 1] if tries <= len(outcomes) else "ok"
        if outcome == "die":
            self._die(task)
        if outcome != "ok":
            raise TaskError(outcome, task)
        for step in range(1, int(payload.get("steps", 1)) + 1):
            named = {"step": step, "attempt": attempt, "key": key and key + ":" + str(step), "fence": fence}
            yield "outside", lambda named=named: self.outside.effect(task, **named)

    def _rest(self, seconds: float) -> None:
        time.sleep(seconds)  # the simulated work

    def _die(self, task: str) -> None:
        self.outside.arrive(
            "death", task
        )  # the lab sees when this process hangs up; it may be a child of one that goes on
        os.kill(os.getpid(), signal.SIGKILL)


def _rests(task: str, seconds: float, should_stop: Optional[Callable[[], bool]]) -> Iterator[Tuple[str, float]]:
    """A part of the work; in smaller parts, between which the handler asks whether to stop, if it can."""
    parts = 1 if should_stop is None else max(1, round(seconds / ASK_EVERY_S))
    for _ in range(parts):
        if should_stop is not None and should_stop():
            raise TaskError("unknown", task, TOLD_TO_STOP)
        yield "rest", seconds / parts


def _handed_back(payload: Mapping[str, Any], tries: int) -> Dict[str, Any]:
    """What the handler of this payload hands back; a result differs from try to try."""
    handed_back: Dict[str, Any] = {"task": str(payload["task"])}
    handed_back.update((name, payload[name]) for name in ("children", "then") if name in payload)
    if "result_size" in payload:
        text = str(payload["task"]) + " try " + str(tries) + " "
        handed_back["result"] = text.ljust(int(payload["result_size"]), "x")
    return handed_back


telling: ContextVar[Optional[Callable[..., bool]]] = ContextVar("telling", default=None)  # while a task's own code runs
_probe: Optional[Probe] = None
_probe_pid = 0
_probe_lock = threading.Lock()


def probe() -> Probe:
    """The probe of this process, made on first use; a forked child gets its own."""
    global _probe, _probe_pid
    with _probe_lock:
        if _probe is None or _probe_pid != os.getpid():
            _probe = Probe(os.environ)
            _probe_pid = os.getpid()
        return _probe


def run_task(payload: Mapping[str, Any], **options: Any) -> Dict[str, Any]:
    """`probe().run_task(...)`, for a handler under test."""
    return probe().run_task(payload, **options)


async def run_task_async(payload: Mapping[str, Any], **options: Any) -> Dict[str, Any]:
    """`await probe().run_task_async(...)`, for an asynchronous handler under test."""
    return await probe().run_task_async(payload, **options)


def effect(*, step: int = 1, key: Optional[str] = None) -> bool:
    """For the code of a task, with --keep-body: tell an effect. False: its key was seen before. Elsewhere it does nothing."""
    tell = telling.get()
    return True if tell is None else tell(step=step, key=key)


def lease(resource: str, **options: Any) -> Lease:
    """`probe().lease(...)`, for the holder of a lease under test."""
    return probe().lease(resource, **options)


def spawned(task: str, **fields: Any) -> None:
    """`probe().spawned(...)`: what a system under test calls that has made a task itself."""
    probe().spawned(task, **fields)


def now_ns() -> int:
    """Nanoseconds since the run began, for `asked_ns`."""
    return probe().recorder.now_ns()
