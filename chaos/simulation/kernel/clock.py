"""Clocks of simulated processes: the monotonic one may run fast or slow, the wall clock may be wrong."""

from dataclasses import dataclass

from chaos.simulation.kernel.scheduler import Scheduler

NS_PER_S = 1_000_000_000
EPOCH_NS = 1_800_000_000 * NS_PER_S
"""The wall-clock time at which every world begins."""


def ns(seconds: float) -> int:
    """A duration as the scheduler counts it."""
    return round(seconds * NS_PER_S)


@dataclass(slots=True)
class Skew:
    """How wrong the clocks of a process are: its wall clock by `wall_s`, and its second lasts 1 / `rate` true seconds."""

    wall_s: float = 0.0
    rate: float = 1.0


class SimulatedClock:
    """The clock of one process."""

    def __init__(self, scheduler: Scheduler, skew: Skew) -> None:
        self._scheduler = scheduler
        self._skew = skew

    def monotonic_s(self) -> float:
        """Seconds since the world began, as this process counts them."""
        return self._scheduler.now_ns * self._skew.rate / NS_PER_S

    def sleep(self, seconds: float) -> None:
        """Rest for so many of this process's seconds."""
        self._scheduler.rest(ns(seconds / self._skew.rate))

    def wall_ns(self) -> int:
        """Nanoseconds since the Unix epoch, by the wall clock of this process."""
        return EPOCH_NS + self._scheduler.now_ns + ns(self._skew.wall_s)


class NeverStops:
    """A shutdown request that never comes: simulated processes are killed."""

    requested = False

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock

    def wait(self, timeout_s: float) -> bool:
        """Rest for that long."""
        self._clock.sleep(timeout_s)
        return False
