"""A service in a container of its own, on a loopback port reserved for it until the lab ends."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from chaos.deadline import Deadline, wait
from chaos.errors import ChaosError, ServiceUnavailable
from chaos.ports import LOOPBACK, PortAllocator, is_free, is_refused
from chaos.services.addresses import Services
from chaos.services.docker_engine import Container, DockerEngine
from chaos.services.service import START_TRIES


class ContainerService(ABC):
    """A service in a container. Its image is already on the machine; the container and the image's volumes hold the data.

    `lab`: prefix of the container's name, which shows to which lab it belongs.
    """

    name: ClassVar[str]
    inner_port: ClassVar[int]
    """The server's port inside the container."""
    command: ClassVar[Sequence[str]] = ()
    """Arguments for the image's entry point; (): its default."""

    def __init__(self, engine: DockerEngine, image: str, lab: str, allocator: PortAllocator) -> None:
        self.port = 0
        self._container_name = f"{lab}-{self.name}"
        self._engine = engine
        self._image = image
        self._allocator = allocator
        self._container: Container | None = None
        self._removed = False
        self._lock = threading.Lock()

    @property
    @abstractmethod
    def _environment(self) -> Mapping[str, str]:
        """The variables that make the image create a user, as it documents."""

    @abstractmethod
    def missing(self) -> str:
        """The failing step of a full round trip, as a sentence; "" if the service is healthy. Quick, without side effects."""

    @abstractmethod
    def version(self) -> str:
        """As the server reports it."""

    @abstractmethod
    def provide(self, services: Services) -> Services:
        """The services of a run with the address of this one, and its namespace created empty."""

    @property
    def data_ports(self) -> Sequence[int]:
        """Its only port."""
        return [self.port]

    @property
    def container(self) -> Container:
        """The container, after `start`."""
        assert self._container is not None, "it was not started"
        return self._container

    def start(self, deadline: Deadline) -> None:
        """Create and start the container, and wait until a round trip succeeds."""
        for tries_left in reversed(range(START_TRIES)):
            self.port = self._allocator.allocate()
            try:
                self._launch()
                break
            except ChaosError as error:
                if tries_left == 0 or deadline.is_over() or is_free(self.port):
                    raise ServiceUnavailable(self.name, str(error)) from error
                # A program that makes no reservation took this port: try another one.
        self.await_ready(deadline)

    def await_ready(self, deadline: Deadline) -> None:
        """Wait until a round trip succeeds."""
        if problem := wait(self._missing_or_dead, deadline):
            words = self.container.log_tail()
            raise ServiceUnavailable(self.name, f"not ready after {deadline.timeout_s:g} s: {problem}", words)

    def kill(self) -> str:
        """SIGKILL to the container; returns a sentence that names it."""
        self.container.kill()
        return f"{self.name}: killed container {self.container.name}"

    def is_gone(self) -> bool:
        """Whether the container has ended and connections are refused: Docker's own proxy accepts them as long as it runs."""
        return self.container.exit_code() is not None and is_refused(LOOPBACK, self.port)

    def pause(self) -> str:
        """Freeze the container, unless it is frozen; "" when Docker shows it as paused."""
        if not self.container.is_paused():
            self.container.pause()
        return self.running_again()

    def running_again(self) -> str:
        """That Docker does not show it as paused; "" if it does."""
        return "" if self.container.is_paused() else f"container {self.container.name} is not paused"

    def resume(self) -> None:
        """Let it continue."""
        self.container.resume()

    def respawn(self) -> None:
        """Start the same container again; does not wait."""
        self.container.start()

    def confirmed_data_lost_by_kill(self) -> str:
        """Always "": everything confirmed is in its files."""
        return ""

    def remove(self) -> None:
        """Remove the container and its data; a concurrent start creates no new one. Idempotent."""
        with self._lock:
            self._removed = True
            if self._container is not None:
                self._container.remove()

    def _launch(self) -> None:
        with self._lock:
            if self._removed:
                raise ChaosError("its environment was closed while it started")
            if self._container is not None:
                self._container.remove()
            self._container = self._engine.create(
                self._image,
                self._container_name,
                command=self.command,
                environment=self._environment,
                ports={self.inner_port: self.port},
            )
            self._container.start()

    def _missing_or_dead(self) -> str:
        code = self.container.exit_code()
        if code is not None:
            raise ServiceUnavailable(
                self.name, f"container {self.container.name} ended with exit code {code}", self.container.log_tail()
            )
        return self.missing()
