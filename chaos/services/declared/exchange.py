"""Round trips with a service of the user's own: an HTTP GET, or bytes that it answers."""

import http.client
import socket
import time

from chaos.services.addresses import DeclaredAddress
from chaos.services.declared.program import Readiness
from chaos.services.exchange import Exchange, as_os_errors

ANSWER_BYTES_MAX = 1 << 20
REFUSED_FROM = 400
"""The least HTTP status that is no success."""


class HttpExchange:
    """GETs of one path on one connection, if the service keeps it open."""

    def __init__(self, address: DeclaredAddress, path: str, timeout_s: float) -> None:
        self._path = path
        self._connection = http.client.HTTPConnection(address.host, address.port, timeout=timeout_s)
        with as_os_errors(http.client.HTTPException):
            self._connection.connect()

    def ask(self, reply_bytes: int = 0) -> float:
        """Seconds until the answer is complete; of `reply_bytes` the service knows nothing."""
        began_s = time.monotonic()
        with as_os_errors(http.client.HTTPException):
            self._connection.request("GET", self._path)
            answer = self._connection.getresponse()
            answer.read()
        if answer.status >= REFUSED_FROM:
            raise ConnectionError(f"GET {self._path} was answered with status {answer.status}")
        return time.monotonic() - began_s

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class AskExchange:
    """Bytes, and their answer, which is over when it ends with the expected bytes."""

    def __init__(self, address: DeclaredAddress, ready: Readiness, timeout_s: float) -> None:
        self._ready = ready
        with as_os_errors():
            self._connection = socket.create_connection((address.host, address.port), timeout_s)

    def ask(self, reply_bytes: int = 0) -> float:
        """Seconds until the answer is complete; of `reply_bytes` the service knows nothing."""
        began_s, answer = time.monotonic(), b""
        with as_os_errors():
            self._connection.sendall(self._ready.send)
            while not answer.endswith(self._ready.expect):
                received = self._connection.recv(1 << 16)
                answer += received
                if not received:
                    raise ConnectionError("the connection was closed")
                if len(answer) > ANSWER_BYTES_MAX:
                    raise ConnectionError(f"its answer {answer[:80]!r} does not end with {self._ready.expect!r}")
        return time.monotonic() - began_s

    def close(self) -> None:
        """Close the socket."""
        self._connection.close()


def open_exchange(address: DeclaredAddress, ready: Readiness, timeout_s: float) -> Exchange:
    """A new connection for round trips; each step takes at most `timeout_s`."""
    assert ready.is_exchange, "a fault that needs it is refused before"
    if ready.kind == "http":
        return HttpExchange(address, ready.path, timeout_s)
    return AskExchange(address, ready, timeout_s)
