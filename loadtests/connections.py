"""Keep-alive connections to one HTTP server. They never repeat a request, and distinguish "not sent" from "sent, but not answered"."""

import select
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

IDLE_MAX_S = 2.0
"""Well below the five seconds after which servers close an idle connection: a request must not meet a connection that is being closed."""


class NotSent(Exception):
    """No byte of the request was sent: there was no connection."""

    definite = True


class NoAnswer(Exception):
    """The request was sent, at least in part, and no answer came: the server may have received it."""

    definite = False


@dataclass(frozen=True, slots=True)
class Response:
    """Status and body of an answer."""

    status: int
    body: bytes


class Connections:
    """One connection for each concurrent request, so that no request waits for another. For threads and greenlets."""

    def __init__(self, base_url: str, *, timeout_s: float) -> None:
        address = urlsplit(base_url)
        if address.scheme != "http" or address.hostname is None:
            raise ValueError(f"{base_url!r} is not an http:// address")
        self._host = address.hostname
        self._port = address.port or 80
        self._timeout_s = timeout_s
        self._idle: list[tuple[HTTPConnection, float]] = []  # the connection that is idle for the longest time first

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send one request, once. The time-out holds for connecting, for sending, and for each wait for a part of the answer.

        Raises:
            NotSent: the server did not receive the request.
            NoAnswer: the server may have received the request.
        """
        connection = self._idle_connection() or self._new_connection()
        try:
            connection.request("POST", path, body, dict(headers))
            response = connection.getresponse()
            answer = Response(response.status, response.read())
        except (OSError, HTTPException) as error:
            connection.close()
            raise NoAnswer(repr(error)) from error
        except BaseException:  # the greenlet was killed: its answer must not be read as the answer of the next request
            connection.close()
            raise
        if connection.sock is not None:  # None: the server announced that it closes the connection
            self._idle.append((connection, time.monotonic()))
        return answer

    def close(self) -> None:
        """Close all idle connections."""
        while self._idle:
            self._idle.pop()[0].close()

    def _idle_connection(self) -> HTTPConnection | None:
        """The most recently used connection, so that few connections stay open when there are few concurrent requests."""
        while self._idle:
            connection, since_s = self._idle.pop()
            if time.monotonic() - since_s <= IDLE_MAX_S and not _is_readable(connection):
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


def _is_readable(connection: HTTPConnection) -> bool:
    """Whether data arrived on an idle connection: this can only be the server closing it."""
    return bool(select.select([connection.sock], [], [], 0)[0])
