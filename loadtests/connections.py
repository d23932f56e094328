"""Keep-alive connections to one HTTP server that never repeat a request, and say whether it can have been received at all."""

import select
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

IDLE_MAX_S = 2.0
"""Well under the five seconds after which servers hang up on a connection that nobody uses: a request must not cross a hang-up."""


class NotSent(Exception):
    """Nothing of the request left: there was no connection."""

    definite = True


class NoAnswer(Exception):
    """The request left, at least in part, and no answer came: it may have been received."""

    definite = False


@dataclass(frozen=True, slots=True)
class Response:
    """Status and body of an answer."""

    status: int
    body: bytes


class Connections:
    """As many as are asking at the same time: no request waits for another. For threads, and greenlets that stand for them."""

    def __init__(self, base_url: str, *, timeout_s: float) -> None:
        address = urlsplit(base_url)
        if address.scheme != "http" or address.hostname is None:
            raise ValueError(f"{base_url!r} is no http:// address")
        self._host = address.hostname
        self._port = address.port or 80
        self._timeout_s = timeout_s
        self._idle: list[tuple[HTTPConnection, float]] = []  # the longest idle first

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """One request, once. Connecting, sending and each wait for a part of the answer have the time-out.

        Raises:
            NotSent, NoAnswer: there is no answer; nothing was, or something may have been received.
        """
        connection = self._idle_connection() or self._new_connection()
        try:
            connection.request("POST", path, body, dict(headers))
            response = connection.getresponse()
            answer = Response(response.status, response.read())
        except (OSError, HTTPException) as error:
            connection.close()
            raise NoAnswer(repr(error)) from error
        except BaseException:  # a greenlet that is killed: the answer that was under way must not be the next one's
            connection.close()
            raise
        if connection.sock is not None:  # None: the server said that it closes
            self._idle.append((connection, time.monotonic()))
        return answer

    def close(self) -> None:
        """Let go of those that nobody uses."""
        while self._idle:
            self._idle.pop()[0].close()

    def _idle_connection(self) -> HTTPConnection | None:
        """The one used last: so few stay open when little is asked at the same time."""
        while self._idle:
            connection, since_s = self._idle.pop()
            if time.monotonic() - since_s <= IDLE_MAX_S and not _has_news(connection):
                return connection
            connection.close()
        return None

    def _new_connection(self) -> HTTPConnection:
        connection = HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        try:
            connection.connect()
        except OSError as error:
            raise NotSent(repr(error)) from error
        return connection


def _has_news(connection: HTTPConnection) -> bool:
    """Whether something came on a connection on which nothing is due: it can only be the hang-up."""
    return bool(select.select([connection.sock], [], [], 0)[0])
