"""The real clock, real chance, and threads: what makes the loops run outside a simulator."""

import random
import signal
import threading
import time
from collections.abc import Callable, Sequence

from uuid_utils import uuid7

LOOK_S = 0.1


class SystemClock:
    """This machine's monotonic clock."""

    def monotonic_s(self) -> float:
        """Seconds since the machine started, about."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Rest."""
        time.sleep(seconds)


class SystemEntropy:
    """Chance from the operating system's seed."""

    def uniform(self, low: float, high: float) -> float:
        """Any number in [low, high]."""
        return random.uniform(low, high)

    def identifier(self) -> str:
        """A UUID version 7: sorted by the time it was made, so that new rows go to the end of the index."""
        return str(uuid7())


class StopEvent:
    """A wish to end that one thread utters and many hear."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def requested(self) -> bool:
        """Whether it was uttered."""
        return self._event.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Rest for that long, or until it is uttered; whether it is."""
        return self._event.wait(timeout_s)

    def request(self) -> None:
        """Utter it. Idempotent."""
        self._event.set()

    def await_request(self) -> None:
        """Rest until it is uttered, by sleeping and looking.

        Not by waiting for the event: a signal handler that utters it, in a thread that is just inside the event's own lock,
        would wait for itself.
        """
        while not self._event.is_set():
            time.sleep(LOOK_S)


def stop_on_signals(stop: StopEvent) -> None:
    """SIGTERM and SIGINT utter the wish to end; a second one kills, like any other crash. Call it in the main thread."""

    def on_signal(_number: int, _frame: object) -> None:
        for ending in (signal.SIGTERM, signal.SIGINT):  # whichever comes next
            signal.signal(ending, signal.SIG_DFL)
        stop.request()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)


class Loops:
    """Endless functions, each in a thread of its own. If one breaks, all are asked to end: half a process helps nobody."""

    def __init__(self, stop: StopEvent) -> None:
        self._stop = stop
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []

    def start(self, loops: Sequence[tuple[str, Callable[[], None]]]) -> None:
        """Start each in a thread of that name."""
        for name, loop in loops:
            thread = threading.Thread(target=self._run, args=(loop,), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def join(self, timeout_s: float) -> bool:
        """Whether all have ended within `timeout_s`.

        Raises:
            BaseException: what the first broken loop broke with.
        """
        deadline_s = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline_s - time.monotonic()))
        if self._errors:
            raise self._errors[0]
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except BaseException as error:  # noqa: BLE001 — kept for `join`, which raises it: a thread has nobody else to tell
            self._errors.append(error)
            self._stop.request()
