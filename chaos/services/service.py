"""A service of the lab's own, in processes or in a container: the Protocol that environments and injectors use."""

from collections.abc import Sequence
from typing import Protocol

from chaos.deadline import Deadline
from chaos.services.addresses import Services

START_TRIES = 3
"""How often a start is tried again on other ports, when a program without a lease took one."""


class OwnService(Protocol):
    """A service that the lab starts, kills, starts again on the same address and data, and removes."""

    @property
    def name(self) -> str:
        """One of `SERVICE_NAMES`."""

    @property
    def data_ports(self) -> Sequence[int]:
        """The loopback ports at which its data is reached; the same after every restart."""

    def start(self, deadline: Deadline) -> None:
        """Start it and wait until a round trip succeeds.

        Raises:
            ServiceUnavailable: something it needs is missing, it ended, or it was not ready in time.
        """

    def await_ready(self, deadline: Deadline) -> None:
        """Wait until a round trip succeeds.

        Raises:
            ServiceUnavailable: it ended, or the time is over; the message says what is missing, with the end of its log.
        """

    def provide(self, services: Services) -> Services:
        """The services of a run with the address of this one, its namespace made anew and empty."""

    def version(self) -> str:
        """As the server reports it."""

    def kill(self) -> str:
        """SIGKILL to everything that holds its data; in words, what was killed."""

    def is_gone(self) -> bool:
        """Whether what held the data has ended and connections are refused."""

    def respawn(self) -> None:
        """Start again what `kill` has killed, on the same ports and data; does not wait."""

    def confirmed_data_lost_by_kill(self) -> str:
        """What was lost by the last `kill` although the server had confirmed it, in words; nothing (""): nothing."""
