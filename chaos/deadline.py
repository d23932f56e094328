"""Bounded waiting: one deadline for a whole procedure, and polling until nothing is missing."""

import time
from collections.abc import Callable
from dataclasses import dataclass

POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock, `timeout_s` seconds after it was set; passed on, so that all steps share it."""

    at_s: float
    timeout_s: float

    @classmethod
    def after(cls, timeout_s: float) -> "Deadline":
        """The deadline that many seconds from now."""
        return cls(time.monotonic() + timeout_s, timeout_s)

    def remaining_s(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.at_s - time.monotonic())

    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self.at_s


def wait(missing: Callable[[], str], deadline: Deadline, *, every_s: float = POLL_S) -> str:
    """Poll `missing` until it returns "" or the time is over; returns its last answer, for the caller's message.

    Polls at least once. An exception of `missing` ends the wait.
    """
    while True:
        answer = missing()
        if not answer or deadline.is_over():
            return answer
        time.sleep(min(every_s, deadline.remaining_s()))  # services and foreign processes send no notification
