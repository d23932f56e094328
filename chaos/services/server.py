"""The base of servers that the lab runs: start on reserved ports, kill, restart, report problems."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from chaos.deadline import POLL_S, Deadline, wait
from chaos.errors import ServiceUnavailable, WardenLost
from chaos.hosting.stopped_tree import StoppedTree
from chaos.hosting.warden_client import ChildProcess, WardenClient
from chaos.ports import LOOPBACK, PortAllocator, is_free, is_refused
from chaos.services.service import START_TRIES

KILL_TIMEOUT_S = 10.0
ROUND_TRIP_TIMEOUT_S = 2.0
"""For one round trip to a server on this machine; a wait repeats it until its own deadline."""


class Server(ABC):
    """A service that the lab runs, in its part of `directory`, on loopback ports reserved for it until the lab ends."""

    name: str
    ports_needed: int
    poll_s: ClassVar[float] = POLL_S

    def __init__(self, warden: WardenClient, directory: Path, allocator: PortAllocator) -> None:
        self.directory = directory / self.name
        self.ports: tuple[int, ...] = ()
        self._warden = warden
        self._allocator = allocator
        self._stopped: list[StoppedTree] = []

    @abstractmethod
    def _prepare(self, deadline: Deadline) -> None:
        """Make the data directory, once."""

    @abstractmethod
    def _spawn(self) -> None:
        """Start the processes on `ports`, without waiting; again after `kill`, on the same data."""

    @property
    @abstractmethod
    def children(self) -> Sequence[ChildProcess]:
        """The processes that must run for the service to be healthy."""

    @property
    @abstractmethod
    def data_children(self) -> Sequence[ChildProcess]:
        """The processes that hold the data: `kill` kills these."""

    @property
    @abstractmethod
    def data_ports(self) -> Sequence[int]:
        """The ports of these processes."""

    @abstractmethod
    def missing(self) -> str:
        """The failing step of a full round trip, as a sentence; "" if the service is healthy. Quick, without side effects."""

    @abstractmethod
    def version(self) -> str:
        """As the server reports it."""

    def start(self, deadline: Deadline) -> None:
        """Start it and wait until a round trip succeeds.

        Raises:
            ServiceUnavailable: a program is missing, it ended, or it was not ready in time.
        """
        self.directory.mkdir()
        self._prepare(deadline)
        for tries_left in reversed(range(START_TRIES)):
            self.ports = tuple(self._allocator.allocate() for _ in range(self.ports_needed))
            try:
                self._spawn()
                self.await_ready(deadline)
                return
            except ServiceUnavailable:
                self.kill_all()
                if tries_left == 0 or deadline.is_over() or all(is_free(port) for port in self.ports):
                    raise
                # A program that makes no reservations took a port: try others.

    def await_ready(self, deadline: Deadline) -> None:
        """Wait until a round trip succeeds.

        Raises:
            ServiceUnavailable: one of its processes ended, or the time is over; the message names the problem, with the end of its log.
        """
        problem = wait(self._missing_or_dead, deadline, every_s=self.poll_s)
        if problem:
            words = "\n".join(
                f"[{child.name}] {line}" for child in self.children for line in child.log_tail(8).splitlines()
            )
            raise ServiceUnavailable(self.name, f"not ready after {deadline.timeout_s:g} s: {problem}", words)

    def kill(self) -> str:
        """SIGKILL to the processes that hold the data and all their descendants; returns a sentence that names them."""
        pids = [pid for child in self.data_children for pid in child.kill_tree(KILL_TIMEOUT_S)]
        return f"{self.name}: killed {len(pids)} processes ({', '.join(map(str, pids))})"

    def pause(self) -> str:
        """SIGSTOP to the processes that hold the data and all their descendants; what still runs, "" if all are stopped."""
        if [tree.child for tree in self._stopped] != list(self.data_children):
            self._stopped = [StoppedTree(child) for child in self.data_children]
        return "; ".join(filter(None, [tree.stop() for tree in self._stopped]))

    def running_again(self) -> str:
        """Why they did not stay stopped since the last `pause`; "" if they did."""
        return "; ".join(filter(None, [tree.running_again() for tree in self._stopped]))

    def resume(self) -> None:
        """SIGCONT to them."""
        for tree in self._stopped:
            tree.resume()
        self._stopped = []

    def respawn(self) -> None:
        """Restart what `kill` has killed, on the same ports and data; does not wait."""
        self._spawn()

    def confirmed_data_lost_by_kill(self) -> str:
        """The confirmed data that the last `kill` has lost, as a sentence; "" if none."""
        return ""

    def is_gone(self) -> bool:
        """Whether the processes that hold the data have ended and connections to them are refused."""
        ended = all(child.exit_code is not None for child in self.data_children)
        return ended and all(is_refused(LOOPBACK, port) for port in self.data_ports)

    def kill_all(self) -> None:
        """SIGKILL to all its processes."""
        for child in self.children:
            child.kill_tree(KILL_TIMEOUT_S)

    def _missing_or_dead(self) -> str:
        if self._warden.is_lost:
            raise WardenLost
        for child in self.children:
            if child.exit_code is not None:
                raise ServiceUnavailable(
                    self.name, f"{child.name} ended with exit code {child.exit_code}", child.log_tail()
                )
        return self.missing()


class SingleProcessServer(Server):
    """A server whose single process holds its data and listens on the first port; `_spawn` sets `_child`."""

    def __init__(self, warden: WardenClient, directory: Path, allocator: PortAllocator) -> None:
        super().__init__(warden, directory, allocator)
        self._child: ChildProcess | None = None

    @property
    def children(self) -> Sequence[ChildProcess]:
        """The process, once it was started."""
        return [self._child] if self._child else []

    @property
    def data_children(self) -> Sequence[ChildProcess]:
        """The same process."""
        return self.children

    @property
    def data_ports(self) -> Sequence[int]:
        """The first port."""
        return self.ports[:1]
