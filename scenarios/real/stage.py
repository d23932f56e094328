"""The real stage: threads, an environment with its services and processes, and a run directory."""

import shutil
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from chaos.environment import Environment, Process, Services
from chaos.errors import ProcessFailed
from chaos.faults import Fault
from chaos.injection import Injection, Interruption
from scenarios.contract import tasklab_probe
from scenarios.contract.guard import GuardedClient, answered, plugin_call
from scenarios.contract.system import (
    Account,
    Accountable,
    Audited,
    Client,
    Dumping,
    Handlers,
    Operation,
    Outcome,
    Submit,
    System,
    policy_of,
)
from scenarios.contract.tasklab_probe import Recorder
from scenarios.experiment.canaries import with_secret
from scenarios.experiment.fitting import processes_of
from scenarios.experiment.outside import Outside
from scenarios.experiment.stage import Death
from scenarios.plugin.remote_system import abandon_plugin, check_plugin
from scenarios.real.attempts import EndedAttempts
from scenarios.real.flows import ThreadFlow, ThreadSignal
from scenarios.real.outside_server import OutsideServer
from scenarios.real.remote_probe import SOURCE, RemoteProbe
from scenarios.real.watcher import Watcher
from scenarios.record.history import Event
from scenarios.record.run_facts import RunFacts
from scenarios.stored.rundir import RunDirectory

HEALTH_TIMEOUT_S = 20.0
LOG_TAIL_CHARACTERS = 2000

Say = Callable[[str], None]


class FileRecords:
    """The history file of one source of events, created at its first event; a `scenarios.experiment.stage.Records`."""

    def __init__(self, directory: RunDirectory, source: str, t0_ns: int) -> None:
        self._path = str(directory.path / f"history.{source}.jsonl")
        self._source = source
        self._t0_ns = t0_ns
        self._lock = threading.Lock()
        self._recorder: Recorder | None = None

    def record(self, event: str, *, actor: str, **fields: Any) -> None:
        """Append one event with the current time."""
        self._file().record(event, actor=actor, **fields)

    def append(self, event: Event) -> None:
        """Append an event that carries its own time."""
        self._file().append(msgspec.to_builtins(event))

    def _file(self) -> Recorder:
        with self._lock:
            if self._recorder is None:
                self._recorder = Recorder(self._path, self._source, self._t0_ns)
            return self._recorder


class CanaryClient:
    """A client that plants a canary in the payload of every submission (docs/adr/0004)."""

    def __init__(self, client: Client, planted: set[str]) -> None:
        self._client = client
        self._planted = planted

    def invoke(self, operation: Operation) -> Outcome:
        """Carry out the operation; a submission gets a canary."""
        if isinstance(operation, Submit):
            self._planted.add(operation.task)
            operation = with_secret(operation)
        return self._client.invoke(operation)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


class RealStage:
    """A `scenarios.experiment.stage.Stage` of threads and processes. `planted`: tasks whose payloads carry a canary."""

    def __init__(
        self,
        system: System,
        environment: Environment,
        services: Services,
        directory: RunDirectory,
        facts: RunFacts,
        say: Say,
    ) -> None:
        self.system = system
        self.environment = environment
        self.services = services
        self.directory = directory
        self.facts = facts
        self.say = say
        self.t0_ns = time.monotonic_ns()
        self.processes: dict[str, Process] = {}
        self.planted: set[str] = set()
        self._problems: list[str] = []
        self._sources: dict[str, FileRecords] = {}
        self.outside = Outside(self.records("outside"), self.now_ns, self.signal)
        self._remote_probe = RemoteProbe(self.outside, self.records(SOURCE))
        self._attempts = EndedAttempts(directory, policy_of(system))
        self._server: OutsideServer | None = None
        self._watcher: Watcher | None = None

    def now_ns(self) -> int:
        """Nanoseconds since the start of the run, on this machine's monotonic clock."""
        return time.monotonic_ns() - self.t0_ns

    def since_start_ns(self, at_ns: int) -> int:
        """An instant of this machine's monotonic clock, as nanoseconds since the start of the run."""
        return at_ns - self.t0_ns

    def sleep(self, seconds: float) -> None:
        """Block this thread."""
        time.sleep(seconds)

    def spawn(self, name: str, body: Callable[[], None]) -> ThreadFlow:
        """Start a thread."""
        return ThreadFlow(name, body, self._problems.append)

    def signal(self) -> ThreadSignal:
        """A condition variable of threads."""
        return ThreadSignal()

    def records(self, source: str) -> FileRecords:
        """The history file of that source."""
        return self._sources.setdefault(source, FileRecords(self.directory, source, self.t0_ns))

    def begin(self, phase: str) -> None:
        """Record the phase in run.json, and print it."""
        self.facts.phases_ns[phase] = self.now_ns()
        self.say(phase)

    def client(self, name: str) -> Client:
        """A new client from the plug-in, guarded, that plants canaries."""
        with plugin_call(self.system.name, "client()"):
            client = self.system.client(self.services)
        return CanaryClient(GuardedClient(client), self.planted)

    def check_plugin(self) -> None:
        """Check that the client process of the plug-in, if there is one, still answers."""
        check_plugin(self.system)

    def abandon_plugin(self) -> None:
        """End the client process of the plug-in, if there is one, so that no flow waits for it."""
        abandon_plugin(self.system)

    def start_processes(self) -> None:
        """Start the outside resource and the system's processes: preparations first, one after another; then the others."""
        server = self._server = OutsideServer(self._remote_probe)
        server.start()
        handlers = Handlers(self._probe_environment(server.address))
        specs = processes_of(self.system, self.environment, self.services, handlers)
        self._remote_probe.admit(spec.name for spec in specs)
        for spec in sorted(specs, key=lambda spec: not spec.runs_once):
            process = self.environment.start_process(spec, log_directory=self.directory.logs)
            if not spec.runs_once:
                self.processes[spec.name] = process

    def stop_processes(self, timeout_s: float) -> None:
        """Stop all processes in parallel: stop signal, `timeout_s`, SIGKILL; then the outside resource."""
        processes = dict(self.processes)
        with ThreadPoolExecutor(max_workers=len(processes) or 1, thread_name_prefix="stop") as pool:
            stops = [
                pool.submit(self.environment.stop_process, process, timeout_s=timeout_s)
                for process in processes.values()
            ]
        if self._server is not None:
            self._server.stop()
        for name, log in self.environment.service_logs().items():
            shutil.copyfile(log, self.directory.logs / f"service-{name}.log")
        for stop in stops:
            stop.result()

    def check_processes(self) -> None:
        """Raise ProcessFailed for the first process that has ended, with its last log lines."""
        for name, process in self.processes.items():
            if not process.is_alive():
                tail = process.log.read_text(errors="replace")[-LOG_TAIL_CHARACTERS:]
                raise ProcessFailed(name, f"ended at start with exit code {process.exit_code()}", process.log, tail)

    def restart(self, process: str) -> None:
        """Start the process again from its specification."""
        self.environment.restart_process(self.processes[process])

    def is_alive(self, process: str) -> bool:
        """Whether its current incarnation runs."""
        return self.processes[process].is_alive()

    def watch_processes(self, on_death: Callable[[Death], None]) -> None:
        """Check every process several times a second, in a thread."""
        self._watcher = Watcher(self.processes, self.now_ns, on_death)
        self.spawn("watcher", self._watcher.run)

    def unwatch_processes(self) -> None:
        """End that thread."""
        if self._watcher is not None:
            self._watcher.stop()

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """From the specifications of the processes."""
        return {name: process.spec.roles for name, process in self.processes.items()}

    def injection(self, fault: Fault, number: int) -> Injection:
        """The injection from the environment."""
        return self.environment.injection(fault, self.services, self.processes)

    def own_faults_pending(self) -> bool:
        """Always False: every fault here is a strike of the nemesis."""
        return False

    def holds_down(self, process: str) -> bool:
        """Always False: every fault here is a strike of the nemesis."""
        return False

    def calm(self) -> None:
        """A round trip through every service."""
        self.environment.check_health(HEALTH_TIMEOUT_S)

    def ended_attempts(self) -> tuple[Collection[str], Collection[str]]:
        """From the history files of this run."""
        return self._attempts.read()

    def account(self) -> Account | None:
        """The plug-in's account, if it has one."""
        if not isinstance(self.system, Accountable):
            return None
        with plugin_call(self.system.name, "account()"):
            account = self.system.account(self.services)
        return answered(self.system.name, "account()", account, Account)

    def places(self) -> Mapping[str, str]:
        """By the plug-in, if it can."""
        if not isinstance(self.system, Dumping):
            return {}
        with plugin_call(self.system.name, "dump()"):
            places = self.system.dump(self.services)
        answer = answered(self.system.name, "dump()", places, Mapping)  # type: ignore[type-abstract]
        return {str(task): str(place) for task, place in answer.items()}

    def trail(self) -> Sequence[Event]:
        """The plug-in's trail, if it has one, converted from this machine's wall clock to the clock of the run."""
        if not isinstance(self.system, Audited):
            return ()
        began_wall_ns = time.time_ns() - self.now_ns()
        with plugin_call(self.system.name, "trail()"):
            trail = self.system.trail(self.services)
        return [_since(event, began_wall_ns) for event in trail]

    def interruptions(self) -> Sequence[Interruption]:
        """Those of the linked processes."""
        return self.environment.interruptions()

    def problems(self) -> Sequence[str]:
        """Threads that ended early, and requests of workers that were refused, a sentence each."""
        probe = self._remote_probe
        # Once a worker has had an effect it passes payloads on: one that is changed was changed by the system, and judges see what follows.
        changed = () if self.outside.tasks_with_effect() else probe.changed_payloads
        return (*self._problems, *probe.refusals, *changed)

    def _probe_environment(self, outside_address: str) -> dict[str, str]:
        """The variables for the probe, which is alone on PYTHONPATH: the processes see no other package of the lab."""
        home = self.services.directory / "probe"
        home.mkdir(parents=True, exist_ok=True)
        probe = Path(tasklab_probe.__file__)
        (home / probe.name).write_bytes(probe.read_bytes())
        return {
            "PYTHONPATH": str(home),
            "PYTHONUNBUFFERED": "1",
            "TASKLAB_RUN": str(self.directory.path.resolve()),
            "TASKLAB_T0_NS": str(self.t0_ns),
            "TASKLAB_OUTSIDE": outside_address,
        }


def _since(event: Event, began_wall_ns: int) -> Event:
    """The event on the clock of the run, which began at this instant of the wall clock."""
    due_s = None if event.due_s is None else event.due_s - began_wall_ns / 1e9
    return msgspec.structs.replace(event, t_ns=event.t_ns - began_wall_ns, due_s=due_s)
