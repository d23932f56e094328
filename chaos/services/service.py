"""A service that the lab runs, in processes or in a container: the Protocol that environments and injectors use."""

from collections.abc import Sequence
from typing import Protocol

from chaos.deadline import Deadline
from chaos.services.addresses import Services

START_TRIES = 3
"""Maximum number of starts, each on other ports, if a program that makes no reservations took one."""


class OwnService(Protocol):
    """A service that the lab starts, kills, restarts on the same address and data, and removes."""

    @property
    def name(self) -> str:
        """One of `SERVICE_NAMES`."""

    @property
    def data_ports(self) -> Sequence[int]:
        """The loopback ports of the processes that hold its data; the same after every restart."""

    def start(self, deadline: Deadline) -> None:
        """Start it and wait until a round trip succeeds.

        Raises:
            ServiceUnavailable: something it needs is missing, it ended, or it was not ready in time.
        """

    def await_ready(self, deadline: Deadline) -> None:
        """Wait until a round trip succeeds.

        Raises:
            ServiceUnavailable: it ended, or the time is over; the message names the problem, with the end of its log.
        """

    def provide(self, services: Services) -> Services:
        """The services of a run with the address of this one, and its namespace created empty."""

    def version(self) -> str:
        """As the server reports it."""

    def kill(self) -> str:
        """SIGKILL to every process that holds its data; returns a sentence that names them."""

    def is_gone(self) -> bool:
        """Whether the processes that hold the data have ended and connections are refused."""

    def pause(self) -> str:
        """Stop every process that holds its data; what still runs, "" if all are stopped. Called again until they are."""

    def running_again(self) -> str:
        """Why they did not stay stopped since then; "" if they did."""

    def resume(self) -> None:
        """Let them go on; does not wait."""

    def respawn(self) -> None:
        """Restart what `kill` has killed, on the same ports and data; does not wait."""

    def confirmed_data_lost_by_kill(self) -> str:
        """The confirmed data that the last `kill` has lost, as a sentence; "" if none."""
