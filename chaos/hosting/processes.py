"""Processes of the system under test, as children of the warden: start, restart, stop."""

import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path

from chaos.errors import ProcessFailed
from chaos.hosting.warden_client import ChildProcess, WardenClient
from chaos.process import Process, ProcessSpec

ONCE_TIMEOUT_S = 60.0
"""How long a preparation (`runs_once`) may take."""
KILL_TIMEOUT_S = 10.0


class HostedProcess:
    """A process of the system under test; each restart is a new child of the warden under the same name."""

    def __init__(self, spec: ProcessSpec, log: Path, child: ChildProcess) -> None:
        self.spec = spec
        self.log = log
        self.child = child

    @property
    def pid(self) -> int:
        """Process id of the current incarnation."""
        return self.child.pid

    def is_alive(self) -> bool:
        """Whether it runs (a stopped one is alive, a zombie is not)."""
        return self.child.exit_code is None

    def exit_code(self) -> int | None:
        """How its last incarnation ended (negative: the signal), or None while it runs."""
        return self.child.exit_code

    def ended_ns(self) -> int | None:
        """When its last incarnation ended, on the monotonic clock; None while it runs, or if that is not known."""
        return self.child.ended_ns


class ProcessHost:
    """Starts processes under a warden, so that they die with the lab."""

    def __init__(self, warden: WardenClient) -> None:
        self._warden = warden
        self._lock = threading.Lock()

    def start(self, spec: ProcessSpec, *, log_directory: Path) -> HostedProcess:
        """Start a process; one that `runs_once` has ended with exit code 0 when this returns."""
        log_directory.mkdir(parents=True, exist_ok=True)
        log = log_directory / f"{spec.name}.log"
        child = self._spawn(spec, log)
        process = HostedProcess(spec, log, child)
        if spec.runs_once:
            self._await_once(process)
        return process

    def restart(self, process: Process) -> None:
        """Start it again from its spec, after killing its old descendants; appends to its log."""
        hosted = own(process)
        with self._lock:
            if hosted.is_alive():
                raise ProcessFailed(hosted.spec.name, "cannot be restarted while it runs", hosted.log)
            hosted.child.kill_tree(KILL_TIMEOUT_S)  # children that outlived it would work beside the new incarnation
            hosted.child = self._spawn(hosted.spec, hosted.log)

    def stop(self, process: Process, *, timeout_s: float) -> int | None:
        """Send its stop signal, then SIGKILL to it and all its descendants; returns its exit code."""
        child = own(process).child
        if child.exit_code is None:
            child.signal(signal.Signals[process.spec.stop_signal])
            child.signal(signal.SIGCONT)  # a stopped process handles its stop signal only then
            child.wait(timeout_s)
        child.kill_tree(KILL_TIMEOUT_S)
        return child.exit_code

    def _spawn(self, spec: ProcessSpec, log: Path) -> ChildProcess:
        return self._warden.spawn(
            spec.name, spec.argv, log=log, env=whole_environment(spec.env), cwd=spec.cwd or Path.cwd()
        )

    def _await_once(self, process: HostedProcess) -> None:
        code = process.child.wait(ONCE_TIMEOUT_S)
        process.child.kill_tree(KILL_TIMEOUT_S)
        if code != 0:
            why = (
                f"a preparation still ran after {ONCE_TIMEOUT_S:g} s"
                if code is None
                else f"a preparation ended with {code}"
            )
            raise ProcessFailed(process.spec.name, why, process.log, process.child.log_tail())


def whole_environment(env: Mapping[str, str]) -> dict[str, str]:
    """These variables in addition to those of the lab's own process."""
    return {**os.environ, **env}


def own(process: Process) -> HostedProcess:
    """The process as one of this module; a process of another kind of environment is the caller's mistake."""
    assert isinstance(process, HostedProcess), f"{process!r} was not started by this kind of environment"
    return process
