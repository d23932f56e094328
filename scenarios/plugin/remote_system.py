"""A system whose plug-in is in a client process: implements scenarios.contract.system by requests to it.

One client process serves one run, which the namespace of its services identifies; a new run gets a new process.
"""

import itertools
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec

from chaos.environment import ProcessSpec, Services
from chaos.hosting.passwords import without_passwords
from chaos.services.addresses import services_fields
from scenarios.contract.system import Account, Client, Handlers, Operation, Outcome, System
from scenarios.errors import PluginFailed, PluginLost, WrongUsage
from scenarios.plugin import protocol
from scenarios.plugin.process import LOG_NAME, ClientProcess, ErrorAnswer, name_of
from scenarios.plugin.protocol import PluginRequest, operation_fields
from scenarios.plugin.statements import SystemStatement, checked, checked_processes
from scenarios.record.events import Event, MalformedEvent, event_from
from scenarios.record.run_facts import Setting
from scenarios.stored.rundir import LOGS

DETAIL_CHARS = 200

T = TypeVar("T")
S = TypeVar("S", bound="RemoteSystem")


class ClientProcesses:
    """The client process of the present run. Thread-safe. `start` returns a new one with the statement of its system."""

    def __init__(self, start: Callable[[], tuple[ClientProcess, SystemStatement]]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._present, self.statement = start()
        self._namespace: str | None = None

    @property
    def present(self) -> ClientProcess:
        """The process of the present run; before the first run, its process."""
        return self._present

    def of(self, services: Services) -> ClientProcess:
        """The process of the run with these services; a new one for a new run.

        Raises:
            PluginLost: the new process does not start.
            WrongUsage: the new process cannot describe its system.
        """
        with self._lock:
            if self._namespace not in (None, services.namespace):
                self._present.close()
                self._present, _ = self._start()
            self._namespace = services.namespace
            return self._present

    def close(self) -> None:
        """Kill the process."""
        self._present.close()


class RemoteSystem:
    """A task system whose plug-in is in a client process; `remote_system` adds optional powers.

    `directory`: where its processes start, unless they state another one, perhaps relative to it.
    """

    def __init__(self, processes: ClientProcesses, statement: SystemStatement, directory: Path) -> None:
        self.name = statement.name
        self.claims = statement.claims
        self.needs = statement.needs
        self.versions = statement.versions
        self.facts = statement.facts
        self.documented = statement.documented
        self.documented_deaths = statement.documented_deaths
        for optional in ("pace", "policy", "reservations", "capabilities"):
            if (stated := getattr(statement, optional)) is not None:
                setattr(self, optional, stated)  # its presence is the power: scenarios.contract.system.Paced and others
        self._processes = processes
        self._directory = directory
        self._client_names = (f"client-{number}" for number in itertools.count(1))
        weakref.finalize(self, processes.close)

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """The processes that the plug-in states. From the first run directory on, the log is kept there."""
        request = protocol.Processes(services=services_fields(services), environment=handlers.environment)
        return self._specs(request, services, handlers)

    def client(self, services: Services) -> Client:
        """A client in the client process, where it has a thread of its own."""
        return RemoteClient(self, self._processes.of(services), next(self._client_names), services)

    def check(self) -> None:
        """Raise PluginLost if the plug-in has failed, or its process is gone: the run cannot continue."""
        self._processes.present.check()

    def abandon(self) -> None:
        """Kill the client process, so that no thread waits for it any more."""
        self._processes.close()

    def ask(self, process: ClientProcess, request: PluginRequest, expected: type[T], what: str = "") -> T:
        """The answer of a process, converted to the type in the protocol.

        Raises:
            PluginFailed: the answer is an error or has another type.
            PluginLost: the process is gone.
        """
        what = what or f"{name_of(request)}()"
        try:
            return msgspec.json.decode(process.ask(request), type=expected)
        except ErrorAnswer as error:
            raise PluginFailed(self.name, what, error.message) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise PluginFailed(self.name, what, f"malformed answer: {error}") from error

    def process_of(self, services: Services, handlers: Handlers) -> ClientProcess:
        """The client process of the run, whose log is in the run directory from now on, if `handlers` name one."""
        process = self._processes.of(services)
        if (run := handlers.environment.get("TASKLAB_RUN")) is not None:
            process.log.move_to(Path(run) / LOGS / LOG_NAME)
        return process

    def placed(self, specs: Sequence[ProcessSpec]) -> Sequence[ProcessSpec]:
        """The processes, each with its working directory as a whole path."""
        return [replace(spec, cwd=self._directory / (spec.cwd or "")) for spec in specs]

    def _specs(self, request: PluginRequest, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        stated = self.ask(self.process_of(services, handlers), request, protocol.StatedProcesses)
        return self.placed(checked_processes(self.name, stated.processes))


class RemoteClient:
    """A client in a client process; a `scenarios.contract.system.Client`."""

    def __init__(self, system: RemoteSystem, process: ClientProcess, name: str, services: Services) -> None:
        self._system = system
        self._process = process
        self._name = name
        process.check()
        system.ask(process, protocol.OpenClient(client=name, services=services_fields(services)), dict, "client()")

    def invoke(self, operation: Operation) -> Outcome:
        """The outcome; `info` if the plug-in raised, returned no outcome or was lost meanwhile. Each of these is a problem of the run.

        Raises:
            PluginLost: the plug-in had failed before, or its process is gone; the operation was not sent.
        """
        self._process.check()
        what = f"invoke({type(operation).__name__})"
        request = protocol.Invoke(client=self._name, operation=operation_fields(operation))
        try:
            outcome = self._system.ask(self._process, request, Outcome, what)
            return outcome if not outcome.detail else replace(outcome, detail=without_passwords(outcome.detail))
        except PluginLost as error:
            if error.definite:
                raise
            return Outcome("info", detail=str(error)[:DETAIL_CHARS])
        except PluginFailed as error:
            self._process.problems.append(str(error))
            return Outcome("info", detail=str(error)[:DETAIL_CHARS])

    def close(self) -> None:
        """Close the client, if the process still exists."""
        if self._process.lost is None:
            self._system.ask(self._process, protocol.CloseClient(client=self._name), dict, "close()")


class _Accountable(RemoteSystem):
    def account(self, services: Services) -> Account:
        """Every task that the system knows, by its present state."""
        self.check()
        request = protocol.ReadAccount(services=services_fields(services))
        return self.ask(self._processes.of(services), request, Account)


class _Audited(RemoteSystem):
    def trail(self, services: Services) -> Sequence[Event]:
        """The audit trail; each event is checked like an event of a history."""
        self.check()
        request = protocol.ReadTrail(services=services_fields(services))
        trail = self.ask(self._processes.of(services), request, protocol.Trail)
        try:
            return [event_from(event) for event in trail.events]
        except MalformedEvent as error:
            raise PluginFailed(self.name, "trail()", str(error)) from error


class _Dumping(RemoteSystem):
    def dump(self, services: Services) -> Mapping[str, str]:
        """The present place of each task."""
        request = protocol.Dump(services=services_fields(services))
        return self.ask(self._processes.of(services), request, protocol.Places).places


class _Addressed(RemoteSystem):
    def api_url(self, services: Services) -> str:
        """The URL of the API, without a path."""
        request = protocol.ApiUrl(services=services_fields(services))
        return self.ask(self._processes.of(services), request, protocol.StatedUrl).url


class _Embeddable(RemoteSystem):
    def embedded_processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """The processes that need no server."""
        request = protocol.EmbeddedProcesses(services=services_fields(services), environment=handlers.environment)
        return self._specs(request, services, handlers)


POWERS: Mapping[str, type[RemoteSystem]] = MappingProxyType(
    {
        "account": _Accountable,
        "trail": _Audited,
        "dump": _Dumping,
        "api_url": _Addressed,
        "embedded_processes": _Embeddable,
    }
)
"""The class for each optional method. Unknown powers in a description, of a later version, are ignored."""


def remote_system(
    argv: Sequence[str], place: str, *, directory: Path, deadlines_s: Mapping[str, float] = protocol.DEADLINES_S
) -> RemoteSystem:
    """The system of the client process that `argv` starts; its class has exactly the optional methods that it described.

    `place`: what the user called it, for messages.

    Raises:
        WrongUsage: the process cannot describe its system, or states an invalid value.
        PluginLost: it hangs, ends, or violates the protocol.
    """
    processes = ClientProcesses(lambda: _started(argv, place, directory, deadlines_s))
    statement = processes.statement
    return class_with(RemoteSystem, statement.powers, statement.summary)(processes, statement, directory)


def _started(
    argv: Sequence[str], place: str, directory: Path, deadlines_s: Mapping[str, float]
) -> tuple[ClientProcess, SystemStatement]:
    process = ClientProcess(argv, directory=directory, deadlines_s=deadlines_s)
    try:
        return process, checked(_description(process, place))
    except BaseException:  # also Ctrl-C: no process is left behind
        process.close()
        raise


def _description(process: ClientProcess, place: str) -> protocol.Description:
    try:
        described = msgspec.json.decode(process.ask(protocol.Describe()), type=protocol.Description)
    except ErrorAnswer as error:
        why = error.message if error.kind == "not_found" else f"{place}: the plug-in does not load: {error.message}"
        raise WrongUsage(why) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WrongUsage(f"{place}: the plug-in's description is malformed: {error}") from error
    if described.protocol != protocol.VERSION:
        raise WrongUsage(
            f"{place} speaks version {described.protocol} of the protocol; this lab speaks version {protocol.VERSION}"
        )
    return described


def class_with(kind: type[S], powers: Collection[str], summary: str) -> type[S]:
    """A class that derives from `kind` and has exactly these optional methods."""
    bases = (*(having for power, having in POWERS.items() if power in powers), kind)
    return type(kind.__name__, bases, {"__doc__": summary})


def check_plugin(system: System) -> None:
    """Raise PluginLost if the system's plug-in has failed, or its client process is gone: the run cannot continue."""
    if isinstance(system, RemoteSystem):
        system.check()


def settings_of(system: System) -> tuple[Setting, ...]:
    """The settings in effect of an adapted app; of every other system none."""
    return system.facts if isinstance(system, RemoteSystem) else ()


def documented_by(system: System, *, kills_workers: bool) -> Mapping[str, str]:
    """By promise, what the documentation of an adapted library says of not keeping it in this configuration, in such a scenario."""
    if not isinstance(system, RemoteSystem):
        return {}
    documented = {**system.documented, **(system.documented_deaths if kills_workers else {})}
    return {promise.value: sentence for promise, sentence in documented.items()}


def abandon_plugin(system: System) -> None:
    """Kill the client process of a system, if it has one, so that no thread waits for it any more."""
    if isinstance(system, RemoteSystem):
        system.abandon()
