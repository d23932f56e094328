"""A connection of the lab through a link: a network fault affects it in the same way as the connections of the linked process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Exchange(Protocol):
    """A connection for requests, one after another; every error is a TimeoutError or a ConnectionError."""

    def ask(self, reply_bytes: int = 0) -> float:
        """Send a request whose answer has at least that many bytes; seconds until the answer is complete."""

    def close(self) -> None:
        """Close the socket without a message to the server, which may no longer read."""


@contextmanager
def as_os_errors(*kinds: type[Exception], timeouts: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn the errors of a driver into TimeoutError (no answer) or ConnectionError (the connection broke).

    `kinds`: the driver's errors. `timeouts`: those that mean a time-out.
    """
    caught: tuple[type[Exception], ...] = (OSError, *kinds)
    try:
        yield
    except caught as error:
        timed_out = isinstance(error, (TimeoutError, *timeouts)) or "timed out" in str(error)
        raise (TimeoutError if timed_out else ConnectionError)(str(error) or type(error).__name__) from error
