"""Toxiproxy: a server that the lab runs; its round trip asks for its version."""

from chaos import binaries
from chaos.deadline import Deadline
from chaos.errors import ServiceUnavailable
from chaos.ports import LOOPBACK, is_refused
from chaos.services.server import SingleProcessServer
from chaos.services.toxiproxy.client import Toxiproxy


class ToxiproxyServer(SingleProcessServer):
    """One Toxiproxy server, without proxies at first."""

    name = "toxiproxy"
    ports_needed = 1

    @property
    def api(self) -> Toxiproxy:
        """The client of its HTTP interface."""
        return Toxiproxy(LOOPBACK, self.ports[0])

    def missing(self) -> str:
        """The problem, or "" when its HTTP interface answers."""
        if is_refused(LOOPBACK, self.ports[0]):  # cheaper than an HTTP request
            return f"no server listens at port {self.ports[0]}"
        try:
            self.version()
        except ServiceUnavailable as error:
            return str(error)
        return ""

    def version(self) -> str:
        """As the server reports it."""
        return self.api.version()

    def _prepare(self, deadline: Deadline) -> None:
        binaries.require(self.name, "toxiproxy-server")

    def _spawn(self) -> None:
        program = binaries.require(self.name, "toxiproxy-server")
        argv = [str(program), "-host", LOOPBACK, "-port", str(self.ports[0])]
        self._child = self._warden.spawn("toxiproxy", argv, log=self.directory / "toxiproxy.log", cwd=self.directory)
