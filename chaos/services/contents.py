"""What a service holds for a run: messages, keys and rows, to find where a task is that has not ended."""

from dataclasses import dataclass

CONTENTS_MAX = 20_000
"""Messages, keys or rows that are read of one queue, server or table at the most."""
SERVICE_TIMEOUT_S = 15.0
"""For reading one service; what it holds beyond that is not read, and the result says so."""
TIMEOUT_S = 5.0
"""For each of its answers."""


@dataclass(frozen=True, slots=True)
class ServiceItem:
    """One message, key or row. `place`: where it is, for a person; `text`: what is in it; None: `place` says what could not be read."""

    place: str
    text: str | None
