"""A service of the user's own, run by the lab: fresh for each run, killed and restarted on the same ports and data."""

import signal
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from chaos.deadline import Deadline
from chaos.errors import ProcessFailed, ServiceUnavailable
from chaos.hosting.processes import whole_environment
from chaos.hosting.warden_client import WardenClient
from chaos.ports import LOOPBACK, PortAllocator, is_refused
from chaos.services.addresses import DeclaredAddress, Services
from chaos.services.declared.exchange import open_exchange
from chaos.services.declared.program import ServiceProgram
from chaos.services.exchange import Exchange
from chaos.services.placeholders import filled, flat_values
from chaos.services.server import KILL_TIMEOUT_S, ROUND_TRIP_TIMEOUT_S, SingleProcessServer

STOP_TIMEOUT_S = 5.0


class DeclaredServer(SingleProcessServer):
    """The service of one run. Its directory is in the scratch directory of the run; it holds `data/` and the log."""

    poll_s = 0.1  # its readiness may be a command

    def __init__(
        self, program: ServiceProgram, warden: WardenClient, services: Services, allocator: PortAllocator
    ) -> None:
        self.name = program.name
        self.ports_needed = 1 + len(program.ports)
        super().__init__(warden, services.directory / "services", allocator)
        self.program = program
        self._services = services

    @property
    def log(self) -> Path:
        """Its output."""
        return self.directory / f"{self.name}.log"

    def address(self) -> DeclaredAddress:
        """Its ports, the further ones by name."""
        return DeclaredAddress(LOOPBACK, self.ports[0], dict(zip(self.program.ports, self.ports[1:], strict=True)))

    def provide(self, services: Services) -> Services:
        """The services with its address."""
        return replace(services, own={**services.own, self.name: self.address()})

    def open_exchange(self, address: DeclaredAddress, timeout_s: float) -> Exchange:
        """A connection for round trips at that address, which may be one of its links."""
        return open_exchange(address, self.program.ready, timeout_s)

    def missing(self) -> str:
        """Why its round trip failed; "" if it succeeded."""
        ready = self.program.ready
        if ready.kind == "command":
            return self._missing_command()
        if is_refused(LOOPBACK, self.ports[0]):
            return f"no server listens at port {self.ports[0]}"
        if not ready.is_exchange:
            return ""
        try:
            with closing(self.open_exchange(self.address(), ROUND_TRIP_TIMEOUT_S)) as exchange:
                exchange.ask()
        except OSError as error:
            return str(error)
        return ""

    def version(self) -> str:
        """Not known to the lab."""
        return ""

    def stop(self) -> None:
        """Its stop signal, then SIGKILL to what is left; its ports are free again."""
        for child in self.children:
            if child.exit_code is None:
                child.signal(signal.Signals[self.program.stop_signal])
                child.signal(signal.SIGCONT)
                child.wait(STOP_TIMEOUT_S)
            child.kill_tree(KILL_TIMEOUT_S)
        for port in self.ports:
            self._allocator.release(port)

    def _prepare(self, deadline: Deadline) -> None:
        (self.directory / "data").mkdir()

    def _spawn(self) -> None:
        program, values = self.program, self._values()
        argv = [filled(text, values) for text in program.argv]
        env = whole_environment({name: filled(text, values) for name, text in program.env.items()})
        try:
            self._child = self._warden.spawn(self.name, argv, log=self.log, env=env, cwd=program.directory)
        except ProcessFailed as error:
            raise ServiceUnavailable(self.name, str(error)) from error

    def _missing_command(self) -> str:
        argv = [filled(text, self._values()) for text in self.program.ready.command]
        log = self.directory / "ready.log"
        child = self._warden.spawn(f"readiness of {self.name}", argv, log=log, cwd=self.program.directory)
        code = child.wait(ROUND_TRIP_TIMEOUT_S)
        child.kill_tree(KILL_TIMEOUT_S)
        if code == 0:
            return ""
        ended = f"did not end within {ROUND_TRIP_TIMEOUT_S:g} s" if code is None else f"ended with exit code {code}"
        return f"its readiness command {ended}: {child.log_tail(1)}"

    def _values(self) -> Mapping[str, str]:
        address = self.address()
        own = {"port": str(address.port), "data": str(self.directory / "data")}
        return {**flat_values(self._services), **own, **{f"ports.{n}": str(port) for n, port in address.ports.items()}}
