"""The outside resource that effects go to: the lab owns it, so it knows what really happened, and may keep an answer back."""

import socketserver
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import msgspec

from chaos.ports import LOOPBACK
from scenarios.contract.tasklab_probe import Recorder

Point = Literal["attempt", "leader", "effect", "write"]
"""Where a process under test can be caught: an attempt began, a leader is at work, an effect or a write was decided."""
TASK_POINTS = frozenset({"attempt", "effect"})


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a process under test asks; which fields matter depends on `op`."""

    op: Literal["arrive", "effect", "write"]
    actor: str
    point: Point | None = None
    subject: str | None = None
    task: str | None = None
    step: int | str = 1
    attempt: int | None = None
    key: str | None = None
    resource: str | None = None
    fence: int | None = None


class Records(Protocol):
    """Where the ledger writes what it decides."""

    def record(self, event: str, *, actor: str, **fields: Any) -> None:
        """Append one event, stamped now."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What the outside has seen by now.

    `duplicates`: accepted effects beyond one a task and step. `repeats`: attempts beyond one a task, whatever they were for.
    """

    effects: int = 0
    duplicates: int = 0
    repeats: int = 0


@dataclass(slots=True)
class Ledger:
    """Decides, atomically for its caller's lock, what is accepted; records it. Holds no socket, so a simulator can use it too."""

    recorder: Records
    _keys: set[str] = field(default_factory=set)
    _fences: dict[str, int] = field(default_factory=dict)
    _arrivals: Counter[tuple[str, str]] = field(default_factory=Counter)
    _effects: Counter[tuple[str, int | str]] = field(default_factory=Counter)
    tasks_with_effect: set[str] = field(default_factory=set)
    tally: Tally = field(default_factory=Tally)

    def decide(self, request: Request) -> dict[str, object]:
        """The answer to one request; its event is on disk before the answer leaves."""
        if request.op == "arrive":
            place = (str(request.point), str(request.subject))
            self._arrivals[place] += 1
            if request.point == "attempt" and self._arrivals[place] > 1:
                self.tally = replace(self.tally, repeats=self.tally.repeats + 1)
            return {"count": self._arrivals[place]}
        if request.op == "effect":
            return {"accepted": self._decide_effect(request)}
        return {"accepted": self._decide_write(request)}

    def _decide_effect(self, request: Request) -> bool:
        assert request.task is not None
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
        self.tally = replace(
            self.tally, effects=self.tally.effects + 1, duplicates=self.tally.duplicates + (1 if again else 0)
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
        """What comes without a fence is accepted; a system shows what it is worth by the fence that it hands over."""
        if fence is None:
            return True
        if fence < self._fences.get(subject, fence):
            return False
        self._fences[subject] = fence
        return True


class Gate:
    """Keeps back the answer to the `nth` request of the run at a point, until released: a process is caught in exactly that phase."""

    def __init__(self, point: Point, nth: int) -> None:
        self.point = point
        self.nth = nth
        self.actor = ""
        self.subject = ""
        self._reached = threading.Event()
        self._released = threading.Event()

    def await_reached(self, timeout_s: float) -> bool:
        """Block until a process has come; its name is in `actor`, its task or resource in `subject`."""
        return self._reached.wait(timeout_s)

    def release(self) -> None:
        """Let the answer go. Idempotent."""
        self._released.set()

    def _hold(self, actor: str, subject: str) -> None:
        self.actor = actor
        self.subject = subject
        self._reached.set()
        self._released.wait()


class OutsideServer:
    """The outside resource on a loopback port: JSON lines, one reply a request, one thread a connection."""

    def __init__(self, recorder: Recorder) -> None:
        self._ledger = Ledger(recorder)
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._gates: list[Gate] = []
        self._last_ns = recorder.now_ns()
        self._recorder = recorder
        self._server = _Server((LOOPBACK, 0), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="outside", daemon=True)

    @property
    def address(self) -> str:
        """host:port, for TASKLAB_OUTSIDE."""
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Release every gate and hang up."""
        with self._lock:
            gates = list(self._gates)
        for gate in gates:
            gate.release()
        self._server.shutdown()
        self._server.server_close()

    def arm(self, point: Point, nth: int) -> Gate:
        """A gate at the `nth` coming to `point` from now on."""
        with self._lock:
            gate = Gate(point, self._counts[point] + nth)
            self._gates.append(gate)
        return gate

    def count(self, point: Point) -> int:
        """How many have come to `point` by now."""
        with self._lock:
            return self._counts[point]

    def tasks_with_effect(self) -> tuple[str, ...]:
        """The tasks of which an effect was accepted, sorted."""
        with self._lock:
            return tuple(sorted(self._ledger.tasks_with_effect))

    def tally(self) -> Tally:
        """Effects, duplicates and repeated attempts so far."""
        with self._lock:
            return self._ledger.tally

    def quiet_s(self) -> float:
        """Seconds since a task last began or had an effect; what leaders do by the clock is no sign of life of any task."""
        return (self._recorder.now_ns() - self._last_ns) / 1e9

    def answer(self, request: Request) -> dict[str, object]:
        """Decide under the lock; then, outside it, wait at a gate if this request has reached one."""
        point: str = request.point or request.op
        with self._lock:
            reply = self._ledger.decide(request)
            if point in TASK_POINTS:
                self._last_ns = self._recorder.now_ns()
            self._counts[point] += 1
            nth = self._counts[point]
            reached = [gate for gate in self._gates if gate.point == point and gate.nth == nth]
        subject = request.task or request.subject or request.resource or ""
        for gate in reached:
            gate._hold(request.actor, subject)
        return reply


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False  # connections of processes that were killed or paused must not keep the lab from stopping
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], outside: OutsideServer) -> None:
        self.outside = outside
        super().__init__(address, _Connection)


class _Connection(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: _Server

    def handle(self) -> None:
        decoder = msgspec.json.Decoder(Request)
        try:
            for line in self.rfile:
                try:
                    reply = self.server.outside.answer(decoder.decode(line))
                except msgspec.DecodeError as error:
                    reply = {"error": str(error)}
                self.wfile.write(msgspec.json.encode(reply) + b"\n")
        except (TimeoutError, ConnectionError):
            return  # the process under test died or was cut off: its business, not ours
