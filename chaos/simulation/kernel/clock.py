"""Clocks of simulated processes: the monotonic clock may drift, the wall clock may be wrong."""

from dataclasses import dataclass

from chaos.simulation.kernel.scheduler import Scheduler

NS_PER_S = 1_000_000_000
EPOCH_NS = 1_800_000_000 * NS_PER_S
"""The wall-clock time at the start of every world."""


def ns(seconds: float) -> int:
    """Seconds as the scheduler's nanoseconds."""
    return round(seconds * NS_PER_S)


@dataclass(slots=True)
class Skew:
    """The errors of a process's clocks: its wall clock is off by `wall_s`, and its second lasts 1 / `rate` true seconds."""

    wall_s: float = 0.0
    rate: float = 1.0


class SimulatedClock:
    """The clock of one process."""

    def __init__(self, scheduler: Scheduler, skew: Skew) -> None:
        self._scheduler = scheduler
        self._skew = skew

    def monotonic_s(self) -> float:
        """Seconds since the start of the world, on this process's clock."""
        return self._scheduler.now_ns * self._skew.rate / NS_PER_S

    def sleep(self, seconds: float) -> None:
        """Sleep for that many seconds of this process's clock."""
        self._scheduler.rest(ns(seconds / self._skew.rate))

    def wall_ns(self) -> int:
        """Nanoseconds since the Unix epoch, on the wall clock of this process."""
        return EPOCH_NS + self._scheduler.now_ns + ns(self._skew.wall_s)


class NeverStops:
    """A shutdown request that never comes: simulated processes are killed."""

    requested = False

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock

    def wait(self, timeout_s: float) -> bool:
        """Sleep until the time-out; always False."""
        self._clock.sleep(timeout_s)
        return False
