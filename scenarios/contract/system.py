"""The plug-in protocol: all that a third party writes to have a system tested (docs/writing_a_system.md)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from chaos.environment import ProcessSpec, ServiceName, Services
from scenarios.contract.limits import Pace as Pace
from scenarios.contract.limits import checked_pace, checked_policy
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import NO_POLICY as NO_POLICY
from scenarios.judging.policy import Policy as Policy
from scenarios.record.history import Event


@dataclass(frozen=True, slots=True)
class Handlers:
    """How the lab's handler gets into the workers under test.

    `environment` must reach every process that runs handlers: it puts `tasklab_probe` on PYTHONPATH, and states where its events go.
    Inside the worker: `tasklab_probe.run_task(payload, attempt=..., key=..., fence=...)`.
    """

    environment: Mapping[str, str]

    def environment_of(self, process: str) -> Mapping[str, str]:
        """The variables for one process: those for all, and its name in the history."""
        return {**self.environment, "TASKLAB_ACTOR": process}


@dataclass(frozen=True, slots=True)
class Submit:
    """A client hands in a task. `task` is the lab's name for it and is inside `payload` too, under "task"."""

    task: str
    payload: Mapping[str, object]
    user: str = "user-1"
    key: str | None = None
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class ReadStatus:
    """A client asks how a task is; `id` is what the system answered at its submission."""

    task: str
    id: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """A client withdraws a task."""

    task: str
    id: str


Operation = Submit | ReadStatus | Cancel


OutcomeKind = Literal["ok", "fail", "info"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an operation ended: `ok`, `fail` (it surely did not happen) or `info` (it may have happened).

    What is not surely one of the first two is `info`: mapping a time-out to `fail` makes the lab blind.
    """

    kind: OutcomeKind
    id: str | None = None
    state: str | None = None
    percent: float | None = None
    detail: str | None = None


class Client(Protocol):
    """One client of the system; used from one thread at a time."""

    def invoke(self, operation: Operation) -> Outcome:
        """Do it once, without a retry, and return how it ended. A failure of the system is an outcome, not an exception."""

    def close(self) -> None:
        """Close its connections."""


@dataclass(frozen=True, slots=True)
class Account:
    """The system's own lists of its tasks, by the lab's names; None for a list that it does not keep."""

    done: tuple[str, ...] | None = None
    dead: tuple[str, ...] | None = None
    cancelled: tuple[str, ...] | None = None
    expired: tuple[str, ...] | None = None
    pending: tuple[str, ...] | None = None


@runtime_checkable
class System(Protocol):
    """A task system under test. Everything beyond this is an optional power, below."""

    name: str
    claims: frozenset[Guarantee]
    needs: frozenset[ServiceName]

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """The processes to start, in order; those with `runs_once` first."""

    def client(self, services: Services) -> Client:
        """A new client."""


@runtime_checkable
class Accountable(Protocol):
    """Power: the system can list its tasks."""

    def account(self, services: Services) -> Account:
        """Every task it knows, by its present state."""


@runtime_checkable
class Audited(Protocol):
    """Power: the system keeps an audit trail."""

    def trail(self, services: Services) -> Sequence[Event]:
        """Its `state`, `dead` and `redrive` events in their order, `t_ns` as nanoseconds of this machine's wall clock since the epoch."""


@runtime_checkable
class Dumping(Protocol):
    """Power: the system can say where its tasks are. Asked at the end of a run in which tasks have not ended, before processes stop."""

    def dump(self, services: Services) -> Mapping[str, str]:
        """By the lab's name of a task that has not ended, the place where it is: a queue, a table, a registry."""


@runtime_checkable
class Versioned(Protocol):
    """Power: the system states the versions of its parts, for run.json and the report."""

    versions: Mapping[str, str]


@runtime_checkable
class Bounded(Protocol):
    """Power: the system states its limits."""

    policy: Policy


@runtime_checkable
class Paced(Protocol):
    """Power: the system states its pace."""

    pace: Pace


@runtime_checkable
class Addressed(Protocol):
    """Power: the system takes submissions over HTTP in the form that docs/load.md states; a load test needs it."""

    def api_url(self, services: Services) -> str:
        """Of the API, without a path: `http://127.0.0.1:8000`."""


@runtime_checkable
class Reserving(Protocol):
    """Power: the system names promises that it does not make while a certain fault is on."""

    reservations: Mapping[str, frozenset[Guarantee]]
    """By the name of the fault."""


@runtime_checkable
class Embeddable(Protocol):
    """Power: the system can run without any server, in a process of its own."""

    def embedded_processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """As `processes`, with nothing but `services.directory` to keep things in."""


def claims_under(system: System, faults: Iterable[str]) -> frozenset[Guarantee]:
    """What the system promises where these faults strike."""
    if not isinstance(system, Reserving):
        return system.claims
    return system.claims.difference(*(system.reservations.get(fault, frozenset()) for fault in faults))


def policy_of(system: System) -> Policy:
    """The limits that the system states, or none.

    Raises:
        MalformedPolicy: one of them is no limit; the message names the field.
    """
    return checked_policy(system.name, system.policy) if isinstance(system, Bounded) else NO_POLICY


def pace_of(system: System) -> Pace:
    """The pace that the system states, or the defaults.

    Raises:
        MalformedPolicy: one of its durations is none; the message names the field.
    """
    return checked_pace(system.name, system.pace) if isinstance(system, Paced) else Pace()
