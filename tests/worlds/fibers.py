"""A scheduler with one process, driven by a test, and a log of the instants at which its fibers did something."""

from collections.abc import Callable

from chaos.simulation.kernel.scheduler import Fiber, Life, Scheduler


class FiberWorld:
    """A scheduler with one process in it, and a log of what happened when."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.broken: list[str] = []
        self.life = self.new_life()
        self.log: list[tuple[int, str]] = []

    def new_life(self) -> Life:
        return self.scheduler.live(Life("process", self._on_broken))

    def spawn(self, name: str, *steps: Callable[[], object]) -> None:
        def body() -> None:
            for step in steps:
                step()

        self.scheduler.spawn(name, self.life, body)

    def say(self, word: str) -> Callable[[], None]:
        return lambda: self.log.append((self.scheduler.now_ns, word))

    def rest(self, duration_ns: int) -> Callable[[], None]:
        return lambda: self.scheduler.rest(duration_ns)

    def run(self, until_ns: int = 1000) -> list[tuple[int, str]]:
        self.scheduler.at(until_ns, self.scheduler.end)
        self.scheduler.run()
        self.scheduler.close()
        return self.log

    def _on_broken(self, fiber: Fiber, error: Exception) -> None:
        self.broken.append(f"{fiber.name}: {error}")
