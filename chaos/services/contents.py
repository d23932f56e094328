"""What a service holds for a run: messages, keys and rows, to find where a task is that has not ended."""

from dataclasses import dataclass

CONTENTS_MAX = 20_000
"""Messages, keys or rows that are read of one queue, server or table at the most."""
TIMEOUT_S = 5.0
"""For reading one service."""


@dataclass(frozen=True, slots=True)
class ServiceItem:
    """One message, key or row. `place`: where it is, for a person; `text`: what is in it; None: `place` says what could not be read."""

    place: str
    text: str | None
