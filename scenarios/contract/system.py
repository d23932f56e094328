"""The plug-in protocol: what a third party implements to have a system tested (docs/writing_a_system.md)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from chaos.environment import ProcessSpec, ServiceName, Services
from chaos.services.declared.program import ServiceProgram
from scenarios.contract.capabilities import checked_capabilities, implied_by
from scenarios.contract.limits import Pace as Pace
from scenarios.contract.limits import checked_pace, checked_policy
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import NO_POLICY as NO_POLICY
from scenarios.judging.policy import Policy as Policy
from scenarios.record.history import Event


@dataclass(frozen=True, slots=True)
class Handlers:
    """How the lab's handler gets into the workers under test.

    Every process that runs handlers needs the variables of `environment`: PYTHONPATH with `tasklab_probe`, and the place for its events.
    Inside the worker: `tasklab_probe.run_task(payload, attempt=..., key=..., fence=...)`.
    """

    environment: Mapping[str, str]

    def environment_of(self, process: str) -> Mapping[str, str]:
        """The variables for one process: `environment`, and its name in the history."""
        return {**self.environment, "TASKLAB_ACTOR": process}


@dataclass(frozen=True, slots=True)
class Submit:
    """A client submits a task. `task` is the lab's name for it, also in `payload` under "task".

    `deadline_s`, `due_s`: seconds from now after which, or before which, it must not start. `order_key`: tasks of one key keep their
    order. `priority`: a larger number goes first. `scope`: what it can be paused or limited by. A field that the system lacks is None.
    """

    task: str
    payload: Mapping[str, object]
    user: str = "user-1"
    key: str | None = None
    deadline_s: float | None = None
    due_s: float | None = None
    order_key: str | None = None
    priority: int | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class ReadStatus:
    """A client reads the status of a task; `id` is the system's answer to its submission."""

    task: str
    id: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """A client cancels a task."""

    task: str
    id: str


@dataclass(frozen=True, slots=True)
class Pause:
    """A person stops the tasks of a scope, or all: none starts until they are resumed. What runs may go on."""

    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Resume:
    """A person lets the paused tasks of a scope, or all, start again."""

    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Redrive:
    """A person puts a dead task back, with all its attempts before it."""

    task: str
    id: str


@dataclass(frozen=True, slots=True)
class SetSchedule:
    """A client sets up a schedule: `times` occurrences, the first `every_s` seconds from now, the others as far apart.

    Occurrence k (from 1) is a task of the system's own: its payload is `payload` with "task" set to `NAME#k`.
    """

    name: str
    every_s: float
    times: int
    payload: Mapping[str, object]


Operation = Submit | ReadStatus | Cancel | Pause | Resume | Redrive | SetSchedule


OutcomeKind = Literal["ok", "fail", "info"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an operation ended: `ok`, `fail` (it surely did not happen) or `info` (it may have happened).

    Use `info` unless one of the first two is certain: with timeouts mapped to `fail`, the lab cannot find lost or phantom tasks.
    `result`: of a status, the "result" that the handler returned.
    """

    kind: OutcomeKind
    id: str | None = None
    state: str | None = None
    percent: float | None = None
    detail: str | None = None
    result: str | None = None


class Client(Protocol):
    """One client of the system; used from one thread at a time."""

    def invoke(self, operation: Operation) -> Outcome:
        """Carry out the operation once, without a retry. A failure of the system is an outcome, not an exception."""

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
    """A task system under test. All further protocols below are optional powers."""

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
        """Every task that the system knows, by its present state."""


@runtime_checkable
class Audited(Protocol):
    """Power: the system keeps an audit trail."""

    def trail(self, services: Services) -> Sequence[Event]:
        """Its own records in their order: `state`, `dead`, `redrive`, `spawn`, `allowed` and `denied` events.

        `t_ns` in nanoseconds, `due_s` in seconds of this machine's wall clock since the epoch.
        """


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
class Capable(Protocol):
    """Power: the system states what it can do; without it, what its claims need."""

    capabilities: frozenset[str]
    """Names of `scenarios.contract.capabilities`."""


@runtime_checkable
class Addressed(Protocol):
    """Power: the system accepts submissions over HTTP in the form of docs/load.md; load tests need it."""

    def api_url(self, services: Services) -> str:
        """The URL of the API without a path, such as `http://127.0.0.1:8000`."""


@runtime_checkable
class Reserving(Protocol):
    """Power: the system states promises that it does not make during certain faults."""

    reservations: Mapping[str, frozenset[Guarantee]]
    """By the name of the fault."""


@runtime_checkable
class Embeddable(Protocol):
    """Power: the system can run without any server."""

    def embedded_processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """As `processes`; the only storage is `services.directory`."""


def own_services_of(system: System) -> Sequence[ServiceProgram]:
    """The services that the system brings for the lab to run: those of `tasklab.toml`, or none."""
    services: Sequence[ServiceProgram] = getattr(system, "own_services", ())
    return services


def needs_of(system: System) -> frozenset[str]:
    """The names of all services that the system uses: the lab's and its own."""
    return frozenset({*system.needs, *(service.name for service in own_services_of(system))})


def claims_under(system: System, faults: Iterable[str]) -> frozenset[Guarantee]:
    """The promises of the system during these faults."""
    if not isinstance(system, Reserving):
        return system.claims
    return system.claims.difference(*(system.reservations.get(fault, frozenset()) for fault in faults))


def policy_of(system: System) -> Policy:
    """The limits that the system states, or none.

    Raises:
        MalformedPolicy: one of them is invalid; the message names the field.
    """
    return checked_policy(system.name, system.policy) if isinstance(system, Bounded) else NO_POLICY


def pace_of(system: System) -> Pace:
    """The pace that the system states, or the defaults.

    Raises:
        MalformedPolicy: one of its durations is invalid; the message names the field.
    """
    return checked_pace(system.name, system.pace) if isinstance(system, Paced) else Pace()


def capabilities_of(system: System) -> frozenset[str]:
    """What the system can do, as it states, or as its claims need.

    Raises:
        UnknownName: it states a capability that does not exist.
    """
    return checked_capabilities(system.capabilities) if isinstance(system, Capable) else implied_by(system.claims)
