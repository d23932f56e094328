"""An open connection of the lab through a link: a network fault does the same to it as to the connections of the linked process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Exchange(Protocol):
    """A connection for one question after the other; every error is a TimeoutError or a ConnectionError."""

    def ask(self, reply_bytes: int = 0) -> float:
        """Seconds until the answer to a question was there, an answer of at least so many bytes."""

    def close(self) -> None:
        """Hang up, without a message to the server, which may not listen any more."""


@contextmanager
def as_os_errors(*kinds: type[Exception], timeouts: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn the errors of a driver into TimeoutError (nothing came) or ConnectionError (the connection broke).

    `kinds`: those of the driver. `timeouts`: those among them that mean a time-out.
    """
    caught: tuple[type[Exception], ...] = (OSError, *kinds)
    try:
        yield
    except caught as error:
        timed_out = isinstance(error, (TimeoutError, *timeouts)) or "timed out" in str(error)
        raise (TimeoutError if timed_out else ConnectionError)(str(error) or type(error).__name__) from error
