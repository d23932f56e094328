"""Fibers as flows of an experiment, and condition variables between them."""

from collections.abc import Callable

from chaos.errors import ChaosError
from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Scheduler, Waiters
from chaos.simulation.world import World
from scenarios.errors import ScenarioError


class FiberSignal:
    """A condition variable of fibers: a waiting fiber costs nothing until it is notified."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._waiters: Waiters = []

    def wait_until(self, is_so: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Wait for the condition; False: the time-out came first."""
        if is_so():
            return True
        scheduler = self._scheduler
        scheduler.check_alive()
        until_ns = None if timeout_s is None else scheduler.now_ns + ns(timeout_s)
        while not is_so():
            left_ns = None if until_ns is None else until_ns - scheduler.now_ns
            if left_ns is not None and left_ns <= 0:
                return False
            scheduler.wait(self._waiters, left_ns)
        return True

    def notify(self) -> None:
        """Let every waiting fiber check its condition."""
        if self._waiters:
            self._scheduler.wake(self._waiters)


class FiberFlow:
    """A fiber of the lab. A lab error in it is passed to `on_broken` as a sentence; any other exception ends the world."""

    def __init__(self, world: World, name: str, body: Callable[[], None], on_broken: Callable[[str], None]) -> None:
        self._name = name
        self._body = body
        self._on_broken = on_broken
        self._is_over = False
        self._over = FiberSignal(world.scheduler)
        world.spawn(name, self._run)

    def is_over(self) -> bool:
        """Whether its body has returned or raised."""
        return self._is_over

    def join(self) -> None:
        """Wait until it is over."""
        self._over.wait_until(self.is_over)

    def _run(self) -> None:
        try:
            self._body()
        except (ChaosError, ScenarioError) as error:
            self._on_broken(f"{self._name} has ended early: {error}")
        finally:
            self._is_over = True
            self._over.notify()
