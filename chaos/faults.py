"""The faults: frozen data, each with its traits. An injector of the same name does it: one for real and one for simulated worlds."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal, Self

REACHED = "the one reached"
"""As a process name: the process that set off the trigger, known only when it happens."""

Excuse = Literal["crash", "pause", "disturbance"]
"""Which repeats a fault explains: of attempts whose process it killed (`crash`) or stopped (`pause`), or of any attempt, because it
disturbed broker, network or database (`disturbance`)."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and its traits; the fields of a subclass say where it strikes.

    `name`: its name in histories (events `fault.*`), tokens, and `tasklab list faults`. `waits_for_traffic`: it is armed first, and
    bites when the traffic that it waits for comes. `ends_process`: its target is dead from the bite until the fault is lifted.
    `is_final`: the target never comes back; the fault heals as soon as it has bitten, and others of its role must exist.
    `lets_run`: a process that the trigger holds is released before the fault begins, because it has to go on to be struck.
    `needs_link`: its process must be linked to the services through a proxy. `loses_ack`: its evidence holds the messages whose
    acknowledgement was lost. `excuses`: which repeats it explains; `fault.begin` carries it to the judges.
    """

    name: ClassVar[str]
    waits_for_traffic: ClassVar[bool] = False
    ends_process: ClassVar[bool] = False
    is_final: ClassVar[bool] = False
    lets_run: ClassVar[bool] = False
    needs_link: ClassVar[bool] = False
    loses_ack: ClassVar[bool] = False
    excuses: ClassVar[Excuse] = "disturbance"

    @property
    def injector(self) -> str:
        """Name of the module of its injector, the same in every world."""
        return injector_name(type(self))

    def flaw(self) -> str:
        """Why no world can do it, such as a value without a visible effect; "" if it is valid."""
        return ""

    @property
    def struck_process(self) -> str | None:
        """The process that it is aimed at: a name, a role, or REACHED; None: it is aimed at no process."""
        return getattr(self, "process", None)

    @property
    def struck_service(self) -> str | None:
        """The service that it strikes, or whose connections it strikes, or the part that this plays; None: no service."""
        return getattr(self, "service", None)

    def aimed_at(self, process: str) -> Self:
        """The same fault, aimed at this process."""
        assert self.struck_process is not None, f"{self.name} is aimed at no process"
        return replace(self, process=process)  # type: ignore[call-arg]  # it has the field, see the assertion

    def among(self, parts: Mapping[str, str]) -> Self:
        """The same fault on the service that plays the part which it names; `parts`: the service of each part."""
        part = getattr(self, "service", None)
        return replace(self, service=parts[part]) if part in parts else self  # type: ignore[call-arg, index]  # it has the field then

    def fields(self) -> dict[str, Any]:
        """Its fields by name, as plain data; a token carries them beside the fault's name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class KillProcess(Fault):
    """kill -9 of one process of the system under test; heals by starting it again.

    `process`: its name, a role (the first process of that role), or REACHED.
    """

    name = "process_killed"
    ends_process = True
    excuses = "crash"

    process: str = REACHED


@dataclass(frozen=True, slots=True)
class LoseProcess(Fault):
    """kill -9 of one process of the system under test, which never comes back: the others of its role have to take over."""

    name = "process_lost"
    ends_process = True
    is_final = True
    excuses = "crash"

    process: str = REACHED


@dataclass(frozen=True, slots=True)
class StopProcess(Fault):
    """The stop signal of one process of the system under test (SIGTERM, unless it states another); heals by starting it again.

    `signals`: how often it is sent, at intervals of `AGAIN_S`. `grace_s`: what is left after that time is killed, as by every
    service manager.
    """

    AGAIN_S: ClassVar[float] = 0.3

    name = "process_stopped"
    ends_process = True
    lets_run = True
    excuses = "crash"

    process: str = REACHED
    signals: int = 1
    grace_s: float = 10.0


@dataclass(frozen=True, slots=True)
class KillChild(Fault):
    """kill -9 of one child of a process, as when the machine has no memory left: a process of a pool that runs a task. Nothing is lifted.

    The process itself goes on; a process without children has no target.
    """

    name = "child_killed"
    excuses = "crash"

    process: str = REACHED


@dataclass(frozen=True, slots=True)
class PauseProcess(Fault):
    """SIGSTOP of one process of the system under test; heals by SIGCONT. The process cannot notice the pause."""

    name = "process_paused"
    excuses = "pause"

    process: str = REACHED


@dataclass(frozen=True, slots=True)
class KillService(Fault):
    """kill -9 of a service (`mysql`, `redis`, `rabbitmq`, `postgresql`); heals by starting it again on the same data and port."""

    name = "service_killed"

    service: str


@dataclass(frozen=True, slots=True)
class PauseService(Fault):
    """SIGSTOP of a service; heals by SIGCONT. Its connections stay open, and nothing is answered.

    Not of a Redis with Sentinels, which fail it over.
    """

    FAILED_OVER: ClassVar[str] = "a paused Redis is failed over by its Sentinels: use redis_failed_over"

    name = "service_paused"

    service: str


@dataclass(frozen=True, slots=True)
class FailOverRedis(Fault):
    """kill -9 of the Redis primary, so that the Sentinels promote its replica; heals when the old one is back as a replica.

    `behind_s`: for so many seconds before, nothing reaches the replica: the writes that the primary acknowledged in that time are lost.
    """

    name = "redis_failed_over"

    behind_s: float = 0.0

    @property
    def struck_service(self) -> str:
        """Redis."""
        return "redis"


@dataclass(frozen=True, slots=True)
class _OnKeys(Fault):
    """A fault on the keys of a Redis, whichever part it plays: `service` is `redis`, or the part (`broker`, `result backend`, `cache`)."""

    service: str

    def flaw(self) -> str:
        """A service that is no Redis."""
        return "" if self.service == "redis" else f"{self.name} strikes the keys of a Redis, not {self.service}"


@dataclass(frozen=True, slots=True)
class FlushKeys(_OnKeys):
    """FLUSHALL: every key of a Redis is gone, as after a command meant for another server. Connections stay; nothing is given back."""

    name = "keys_flushed"


@dataclass(frozen=True, slots=True)
class EvictKeys(_OnKeys):
    """A Redis whose memory is full drops keys by `policy`, to make room for the keys of another program. Heals when it has room again.

    Keys that it has dropped stay lost. `volatile-lru` drops only keys with an expiry.
    """

    POLICIES: ClassVar[tuple[str, ...]] = ("allkeys-lru", "volatile-lru", "allkeys-random")

    name = "keys_evicted"

    policy: str = "allkeys-lru"

    def flaw(self) -> str:
        """A service that is no Redis, or an unknown policy."""
        if self.policy not in self.POLICIES:
            return f"no policy of eviction is called {self.policy!r}; the policies are {', '.join(self.POLICIES)}"
        return _OnKeys.flaw(self)


@dataclass(frozen=True, slots=True)
class RestartEmpty(_OnKeys):
    """kill -9 of a Redis, and a start without its files, as of a container without a volume: every key is gone."""

    name = "service_restarted_empty"


@dataclass(frozen=True, slots=True)
class _NthOnAmqpLink(Fault):
    """A fault at the `nth` operation of one kind on the link of `process` to RabbitMQ."""

    waits_for_traffic = True
    needs_link = True

    process: str
    nth: int

    @property
    def struck_service(self) -> str:
        """RabbitMQ: the fault strikes the connection to it."""
        return "rabbitmq"

    def flaw(self) -> str:
        """A count below 1, which is never reached."""
        return "" if self.nth >= 1 else f"{self.name} counts from 1, not from {self.nth}"


@dataclass(frozen=True, slots=True)
class SwallowAck(_NthOnAmqpLink):
    """The `nth` basic.ack that `process` sends to RabbitMQ never arrives; then its connection is cut. Heals by itself.

    Counted from the start of the fault, over all connections of the process; an ack of many deliveries counts once.
    """

    name = "ack_swallowed"
    loses_ack = True


@dataclass(frozen=True, slots=True)
class WithholdConfirm(_NthOnAmqpLink):
    """The `nth` basic.publish of `process` arrives; after it nothing passes between the process and RabbitMQ in either direction.

    Counted as in SwallowAck. Heals by cutting the frozen connections and accepting new ones; the withheld frames are lost.
    """

    name = "confirm_withheld"


@dataclass(frozen=True, slots=True)
class DegradeNetwork(Fault):
    """A degraded link from `process` to `service`; heals when the degradation is removed and a round trip is clean.

    `kind` and `value` mean the same in every world, for connections that are open and for new ones:

    | kind | value | what the process sees |
    | --- | --- | --- |
    | `delay` | milliseconds, 1 or more | every message takes that much longer, in each direction |
    | `slow` | kB/s (1000 bytes), 1 or more | a message of n bytes takes n / value milliseconds longer, in each direction |
    | `reset` | milliseconds, 0 or more | an answer does not arrive; that long after the service sent it, its connection is reset |
    | `blackhole` | none | nothing passes, connections stay open |
    | `refuse` | none | open connections break, new ones are refused |

    Faults that overlap on one link add up; each is lifted separately.
    """

    KINDS: ClassVar[tuple[str, ...]] = ("delay", "blackhole", "reset", "slow", "refuse")

    name = "network_degraded"
    needs_link = True

    process: str
    service: str
    kind: str
    value: float = 0.0  # ms or kB/s, by kind

    def flaw(self) -> str:
        """An unknown kind, or a value without a visible effect."""
        if self.kind not in self.KINDS:
            return f"no network fault is called {self.kind!r}; the kinds are {', '.join(self.KINDS)}"
        if self.value < 0 or (self.kind in ("delay", "slow") and round(self.value) < 1):
            return f"a network fault of kind {self.kind!r} needs a value of 1 or more, not {self.value:g}"
        return ""


def injector_name(fault: type[Fault]) -> str:
    """Name of the module of an injector: the class name of its fault in snake case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", fault.__name__).lower()


FAULTS: Mapping[str, type[Fault]] = {
    fault.name: fault
    for fault in (
        KillProcess,
        LoseProcess,
        StopProcess,
        KillChild,
        PauseProcess,
        KillService,
        PauseService,
        FailOverRedis,
        FlushKeys,
        EvictKeys,
        RestartEmpty,
        SwallowAck,
        WithholdConfirm,
        DegradeNetwork,
    )
}
"""Every fault by its name. To add one: a class here, an injector in chaos/injectors/, its twin in chaos/simulation/injectors/.

Random worlds use it once `_KINDS` in scenarios/simulated/worlds/swarm.py has a function that draws it.
"""
