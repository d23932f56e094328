"""Loopback ports that two labs on one machine never share, and that no outgoing connection can take while a service is down."""

import random
import socket
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
PORTS = range(10_000, 32_000)
"""Below the range from which Linux draws the local ports of outgoing connections (32768 and up by default)."""
TRIES_MAX = 2_000
_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


class PortLease:
    """The ports of one lab: each is free when claimed, and stays this lab's until it is released or the lab ends.

    A claim is an abstract Unix socket named after the port: the kernel gives it to one process only, in the same network
    namespace as the port itself, and frees it when that process ends. No file, no clean-up, no stale lock.

    Why not the ports that the kernel hands out for port 0: those are in the range of outgoing connections, so that while a
    service is down one of its own clients can be given its port, and even connect to itself.
    """

    def __init__(self) -> None:
        self._claims: dict[int, socket.socket] = {}
        self._random = random.SystemRandom()  # not of the experiment: two labs of one seed must not draw the same ports

    def claim(self) -> int:
        """A free loopback port that no other lab will choose.

        Raises:
            OSError: none was found.
        """
        candidates = _candidates()
        for _ in range(TRIES_MAX):
            port = self._random.choice(candidates)
            if port not in self._claims and self._try(port):
                return port
        raise OSError(f"no free loopback port found in {TRIES_MAX} tries")

    def release(self, port: int) -> None:
        """Give a port back. Idempotent."""
        claim = self._claims.pop(port, None)
        if claim is not None:
            claim.close()

    def close(self) -> None:
        """Give all ports back. Idempotent."""
        for port in list(self._claims):
            self.release(port)

    def _try(self, port: int) -> bool:
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f"\0tasklab-port-{port}")
        except OSError:  # another lab has it
            claim.close()
            return False
        if not is_free(port):
            claim.close()
            return False
        self._claims[port] = claim
        return True


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket() as trial:
        trial.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as servers do: connections that linger are no obstacle
        with suppress(OSError):
            trial.bind((LOOPBACK, port))
            return True
    return False


def is_refused(host: str, port: int, timeout_s: float = 1.0) -> bool:
    """Whether no server listens there: a connection is refused at once, not merely slow."""
    try:
        socket.create_connection((host, port), timeout=timeout_s).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def _candidates() -> range:
    """`PORTS`, or, where an administrator has moved the range of outgoing connections down to them, what lies above it."""
    try:
        low, high = map(int, _EPHEMERAL_RANGE.read_text().split())
    except OSError:
        return PORTS
    if low >= PORTS.stop or high < PORTS.start:
        return PORTS
    below, above = range(PORTS.start, max(low, PORTS.start)), range(high + 1, 65_536)
    widest = max(below, above, key=len)
    return widest if len(widest) >= 100 else PORTS
