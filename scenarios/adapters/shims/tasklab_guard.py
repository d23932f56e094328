"""No process of an app reaches anything but the lab: an audit hook that refuses every other address, and cannot be removed.

Standard library only, from Python 3.8 on. It sees what Python's sockets do, in every library; not what programs do that the app
starts, nor drivers in C with sockets of their own.
"""

import os
import socket
import sys
from typing import Any, List, Mapping, Set, Tuple

EVENTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
LOOPBACK = "127.0.0.1"
REFUSED = "tasklab: refused: this process asked for "
"""How a line begins that tells of a refused address; the lab looks for it in the logs."""


class Guard:
    """The addresses that this process may use: those of the lab, and its own sockets. `asked`: those that were refused, each once."""

    def __init__(self) -> None:
        self.asked: List[str] = []
        self._allowed: Set[Tuple[str, int]] = set()

    def allow(self, host: str, port: int) -> None:
        """Allow an address, by its name and by what it resolves to."""
        self._allowed.add((host, port))
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        self._allowed.update((str(address[0]), int(address[1])) for *_, address in found)

    def note(self, event: str, arguments: Any) -> None:
        """The audit hook: raises for an address that is not allowed. Paths of Unix sockets are this machine's, and pass."""
        if event not in EVENTS or not isinstance(arguments[1], tuple):
            return
        self.check(*arguments[1][:2])

    def check(self, host: str, port: int) -> None:
        """Raise ConnectionRefusedError for an address that is not allowed."""
        if (host, port) in self._allowed or (_is_here(host) and (LOOPBACK, port) in self._allowed):
            return
        address = "%s:%s" % (host, port)
        told = REFUSED + address + ", which is no service of this run"
        if address not in self.asked:
            self.asked.append(address)
            os.write(2, (told + "\n").encode(errors="replace"))
        raise ConnectionRefusedError(told)


_guard = Guard()


def install() -> None:
    """Refuse all addresses from now on, but those that are allowed and sockets on which this process itself listens."""
    listen = getattr(socket.socket, "listen", None)

    def listens(self: socket.socket, *backlog: int) -> Any:
        assert listen is not None, "it was replaced"
        listening = listen(self, *backlog)
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host, port = self.getsockname()[:2]
            _guard.allow(LOOPBACK if host in ("0.0.0.0", "::") else host, port)
        return listening

    if listen is not None:  # the sockets of Eventlet have none of their own
        socket.socket.listen = listens  # type: ignore[method-assign, assignment]
    sys.addaudithook(_guard.note)


def allow(turned: Mapping[str, Any]) -> None:
    """Allow the lab's services at these addresses, and its outside resource."""
    for address in turned.values():
        _guard.allow(str(address["host"]), int(address["port"]))
    host, _, port = os.environ.get("TASKLAB_OUTSIDE", "").rpartition(":")
    if host:
        _guard.allow(host, int(port))


def check(host: str, port: int) -> None:
    """Raise ConnectionRefusedError for an address that is not allowed: for drivers whose sockets Python does not see."""
    _guard.check(host, port)


def asked_since_start() -> List[str]:
    """The addresses that were refused so far."""
    return list(_guard.asked)


def _is_here(host: str) -> bool:
    return host in ("localhost", "::1", "") or (host.startswith("127.") and host.replace(".", "").isdigit())


install()
