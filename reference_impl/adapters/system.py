"""Real clock, random numbers, shutdown by signal, and threads: everything the loops need outside a simulator."""

import random
import signal
import threading
import time
from collections.abc import Callable, Sequence

from uuid_utils import uuid7

POLL_S = 0.1


class SystemClock:
    """The system's monotonic clock."""

    def monotonic_s(self) -> float:
        """Seconds since about the start of the machine."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleep for the full time."""
        time.sleep(seconds)  # the clock itself: the simulator replaces it


class SystemEntropy:
    """Random numbers, seeded by the operating system."""

    def uniform(self, low: float, high: float) -> float:
        """A random number in [low, high]."""
        return random.uniform(low, high)

    def identifier(self) -> str:
        """A UUID version 7: sorted by creation time, so that new rows go to the end of the index."""
        return str(uuid7())


class ShutdownEvent:
    """Shutdown flag: one thread sets it, others poll or wait for it."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def requested(self) -> bool:
        """Whether shutdown has been requested."""
        return self._event.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Wait until shutdown is requested, at most `timeout_s`; return whether it has been requested."""
        return self._event.wait(timeout_s)

    def request(self) -> None:
        """Request shutdown. Idempotent."""
        self._event.set()

    def await_request(self) -> None:
        """Wait until shutdown is requested, by polling.

        Not by waiting for the event: a signal handler that interrupts this thread inside the event's lock, and sets the event, would
        deadlock.
        """
        while not self._event.is_set():
            time.sleep(POLL_S)  # polled, for the reason above


def shut_down_on_signals(shutdown: ShutdownEvent) -> None:
    """Make SIGTERM and SIGINT request shutdown; a second signal kills the process. Call it in the main thread."""

    def on_signal(_number: int, _frame: object) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        shutdown.request()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)


class Loops:
    """Loops, each in its own thread. If one raises, the whole process is shut down: it must not go on without one of its loops."""

    def __init__(self, shutdown: ShutdownEvent) -> None:
        self._shutdown = shutdown
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []

    def start(self, loops: Sequence[tuple[str, Callable[[], None]]]) -> None:
        """Start each loop in a thread of its name."""
        for name, loop in loops:
            thread = threading.Thread(target=self._run, args=(loop,), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def join(self, timeout_s: float) -> bool:
        """Wait for all loops, at most `timeout_s`; return whether all have ended.

        Raises:
            BaseException: the exception of the first loop that failed.
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
        except BaseException as error:  # noqa: BLE001 — kept for `join`, which raises it in the caller's thread
            self._errors.append(error)
            self._shutdown.request()
