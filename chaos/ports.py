"""Loopback ports: never shared by two labs on one machine, and never taken by an outgoing connection while a service is down."""

import random
import socket
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
PORTS = range(10_000, 32_000)
"""Below the range of local ports that Linux uses for outgoing connections (32768 and up by default)."""
TRIES_MAX = 2_000
_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


class PortAllocator:
    """The ports of one lab: each is free when allocated, and reserved for this lab until it is released or the lab ends.

    A reservation is an abstract Unix socket named after the port: the kernel gives it to one process only, in the same network
    namespace as the port itself, and frees it when that process ends. No file, no clean-up, no stale lock.
    Ports that the kernel chooses for port 0 do not serve: they are in the range of outgoing connections, so while a
    service is down one of its clients can get its port, and even connect to itself.
    """

    def __init__(self) -> None:
        self._reservations: dict[int, socket.socket] = {}
        self._random = (
            random.SystemRandom()
        )  # not from the experiment's seed: two labs with one seed must not try the same ports

    def allocate(self) -> int:
        """A free loopback port that no other lab will choose.

        Raises:
            OSError: none was found.
        """
        candidates = _candidates()
        for _ in range(TRIES_MAX):
            port = self._random.choice(candidates)
            if port not in self._reservations and self._try(port):
                return port
        raise OSError(f"no free loopback port found in {TRIES_MAX} tries")

    def release(self, port: int) -> None:
        """End the reservation of a port. Idempotent."""
        reservation = self._reservations.pop(port, None)
        if reservation is not None:
            reservation.close()

    def close(self) -> None:
        """Release all ports. Idempotent."""
        for port in list(self._reservations):
            self.release(port)

    def _try(self, port: int) -> bool:
        reservation = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            reservation.bind(f"\0tasklab-port-{port}")
        except OSError:  # another lab has it
            reservation.close()
            return False
        if not is_free(port):
            reservation.close()
            return False
        self._reservations[port] = reservation
        return True


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket() as trial:
        trial.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as servers do: old connections in TIME_WAIT do not matter
        with suppress(OSError):
            trial.bind((LOOPBACK, port))
            return True
    return False


def is_refused(host: str, port: int, timeout_s: float = 1.0) -> bool:
    """Whether no server listens there: a connection is refused, not just slow."""
    try:
        socket.create_connection((host, port), timeout=timeout_s).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def _candidates() -> range:
    """`PORTS`, or, if the system's range of outgoing connections overlaps them, the widest range outside it."""
    try:
        low, high = map(int, _EPHEMERAL_RANGE.read_text().split())
    except OSError:
        return PORTS
    if low >= PORTS.stop or high < PORTS.start:
        return PORTS
    below, above = range(PORTS.start, max(low, PORTS.start)), range(high + 1, 65_536)
    widest = max(below, above, key=len)
    return widest if len(widest) >= 100 else PORTS
