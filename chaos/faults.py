"""The words for what can go wrong: faults as frozen data, named by what the peer sees. How each is done is in injectors/."""

from dataclasses import dataclass

REACHED = "the one reached"
"""As a process name: the process that tripped the trigger, known only when it happens."""


@dataclass(frozen=True, slots=True)
class KillProcess:
    """kill -9 of one process of the system under test; heals by starting it again.

    `process`: its name, a role (the first process of that role), or REACHED.
    """

    process: str = REACHED


@dataclass(frozen=True, slots=True)
class PauseProcess:
    """SIGSTOP of one process of the system under test; heals by SIGCONT. The process does not know that it was away."""

    process: str = REACHED


@dataclass(frozen=True, slots=True)
class KillService:
    """kill -9 of a service (`mysql`, `redis`, `rabbitmq`); heals by starting it again on the same data and port."""

    service: str


@dataclass(frozen=True, slots=True)
class FailOverRedis:
    """kill -9 of the Redis primary, so that the Sentinels promote its replica; heals when the old one is back as a replica."""


@dataclass(frozen=True, slots=True)
class SwallowAck:
    """The `nth` basic.ack that `process` sends to RabbitMQ never arrives; then its connection is cut. Heals by itself.

    Counted from when the fault begins, over all connections of the process; an ack of many deliveries is one ack.
    """

    process: str
    nth: int


@dataclass(frozen=True, slots=True)
class WithholdConfirm:
    """From the `nth` basic.publish of `process` on (which still arrives) nothing passes between it and RabbitMQ either way.

    Counted as in SwallowAck. Heals by cutting the frozen connections and letting new ones through; what was withheld is gone.
    """

    process: str
    nth: int


@dataclass(frozen=True, slots=True)
class DegradeNetwork:
    """Toxiproxy toxics on the link from `process` to `service`; heals when they are removed and a round trip is clean.

    `kind` says what the peer sees, not what the tool calls it, and decides the unit of `value`: `delay` (so many milliseconds are
    added each way), `reset` (RST after so many milliseconds), `slow` (so many kilobytes a second each way), `blackhole` (nothing passes,
    connections stay open) and `refuse` (nobody listens), which take none.
    """

    process: str
    service: str
    kind: str
    value: float = 0.0  # ms or kB/s, by kind


Fault = KillProcess | PauseProcess | KillService | FailOverRedis | SwallowAck | WithholdConfirm | DegradeNetwork

WAITING_FOR_TRAFFIC = (SwallowAck, WithholdConfirm)
"""Faults that are armed first, and bite when the traffic they wait for comes."""

NAMES: dict[type, str] = {
    KillProcess: "process_killed",
    PauseProcess: "process_paused",
    KillService: "service_killed",
    FailOverRedis: "redis_failed_over",
    SwallowAck: "ack_swallowed",
    WithholdConfirm: "confirm_withheld",
    DegradeNetwork: "network_degraded",
}
"""How a history and the command line spell each fault."""


def name_of(fault: Fault) -> str:
    """The fault's name in histories (`fault.begin` and the rest) and in `tasklab list faults`."""
    return NAMES[type(fault)]
