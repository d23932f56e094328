"""Fibers on a virtual clock: one thread, no real time. Blocking code runs unchanged in a fiber and blocks no other fiber."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from greenlet import getcurrent, greenlet

STEPS_MAX = 2_000_000
"""A world that takes more steps than this is taken to loop without end."""
ACTION = -1
"""The ticket of an action, which has no fiber."""


class Died(BaseException):
    """The process of this fiber is dead. From then on every call of scheduler or service raises it, so the fiber does no more I/O."""


class WorldStuck(BaseException):
    """The world loops without end, or no fiber or action is due any more. No code in it may catch this."""


class Life:
    """One incarnation of a process: the fibers that are paused together and die together.

    `on_broken` is called when one of its fibers ends with an exception.
    """

    __slots__ = ("_deferred", "alive", "fibers", "name", "on_broken", "paused")

    def __init__(self, name: str, on_broken: Callable[["Fiber", Exception], None]) -> None:
        self.name = name
        self.alive = True
        self.paused = False
        self.fibers: list[Fiber] = []
        self.on_broken = on_broken
        self._deferred: list[tuple[Fiber, int]] = []


class Fiber:
    """One flow of control. `calls`: number of its calls of services; `woken`: whether its last wait ended by a wake-up."""

    __slots__ = ("body", "calls", "life", "name", "notes", "ticket", "woken")

    def __init__(self, name: str, life: Life, body: Callable[[], None], hub: greenlet) -> None:
        self.name = name
        self.life = life
        self.body = greenlet(body, hub)
        self.ticket = 0
        self.calls = 0
        self.woken = False
        self.notes: Any = None


Waiters = list[tuple[Fiber, int]]
"""Waiting fibers, each with its ticket at the start of the wait."""


class Scheduler:
    """Runs fibers and actions in the order of time; those due at the same time in the order in which they were scheduled.

    A fiber that has to wait switches to the next one directly, not through the hub: one switch per step, none if it is itself the next.
    """

    def __init__(self, steps_max: int = STEPS_MAX) -> None:
        self.now_ns = 0
        self.steps = 0
        self.current: Fiber | None = None
        self._steps_max = steps_max
        self._due: list[tuple[int, int, Fiber | Callable[[], None], int]] = []
        self._order = 0
        self._over = False
        self._hub = getcurrent()
        self._lives: list[Life] = []
        self._unstarted: Fiber | None = None

    def live(self, life: Life) -> Life:
        """Register an incarnation, so that `close` ends it too."""
        self._lives.append(life)
        return life

    def spawn(self, name: str, life: Life, target: Callable[[], object]) -> Fiber:
        """A new fiber of that process, ready to run."""

        def body() -> None:
            try:
                if not life.alive:
                    raise Died
                target()
            except Died:
                pass
            except Exception as error:  # noqa: BLE001 — the edge: `on_broken` handles any error of a fiber
                if life.alive:
                    life.on_broken(fiber, error)
            if fiber in life.fibers:
                life.fibers.remove(fiber)
            fiber.ticket += 1  # invalidates everything still due for it

        fiber = Fiber(name, life, body, self._hub)
        life.fibers.append(fiber)
        self._push(self.now_ns, fiber, fiber.ticket)
        return fiber

    def at(self, instant_ns: int, action: Callable[[], None]) -> None:
        """Call `action` at that instant, outside every fiber. It must not block."""
        self._push(max(instant_ns, self.now_ns), action, ACTION)

    def rest(self, duration_ns: int) -> None:
        """The current fiber sleeps.

        Raises:
            Died: its process died meanwhile.
        """
        fiber = self.current
        assert fiber is not None, "only a fiber can rest"
        until_ns = self.now_ns + duration_ns
        due, life = self._due, fiber.life
        if (not due or due[0][0] > until_ns) and not self._over and not life.paused:
            self.now_ns = until_ns  # nothing else is due before: no switch needed
            self.steps += 1
            if self.steps > self._steps_max:
                raise self._stuck()
            if not life.alive:
                raise Died
            return
        fiber.ticket = ticket = fiber.ticket + 1
        self._order = order = self._order + 1
        heappush(due, (until_ns, order, fiber, ticket))
        self._block(fiber)

    def wait(self, waiters: Waiters, timeout_ns: int | None = None) -> bool:
        """The current fiber waits until it is woken through `waiters`; False: the time-out came first.

        Raises:
            Died: its process died meanwhile.
        """
        fiber = self.current
        assert fiber is not None, "only a fiber can wait"
        fiber.ticket += 1
        fiber.woken = False
        waiters.append((fiber, fiber.ticket))
        if timeout_ns is not None:
            self._push(self.now_ns + timeout_ns, fiber, fiber.ticket)
        ticket = fiber.ticket
        self._block(fiber)
        if not fiber.woken:
            waiters.remove((fiber, ticket))
        return fiber.woken

    def wake(self, waiters: Waiters) -> None:
        """Wake all fibers in `waiters`, and empty the list."""
        for fiber, ticket in waiters:
            if fiber.ticket == ticket and not fiber.woken:
                fiber.woken = True
                fiber.ticket += 1
                self._push(self.now_ns, fiber, fiber.ticket)
        waiters.clear()

    def kill(self, life: Life) -> None:
        """Kill the process: each of its fibers, wherever it waits, gets Died once and ends."""
        life.alive = False
        life.paused = False
        for fiber in life.fibers:
            fiber.ticket += 1
            self._push(self.now_ns, fiber, fiber.ticket)

    def pause(self, life: Life) -> None:
        """Stop the process while time goes on; the process cannot notice it."""
        life.paused = True

    def resume(self, life: Life) -> None:
        """Resume the process, with everything that became due meanwhile."""
        life.paused = False
        deferred, life._deferred = life._deferred, []
        for fiber, ticket in deferred:
            self._push(self.now_ns, fiber, ticket)

    def check_alive(self) -> Fiber:
        """The current fiber, if its process is alive.

        Raises:
            Died: it is not.
        """
        fiber = self.current
        assert fiber is not None, "only a fiber can call a service"
        if not fiber.life.alive:
            raise Died
        return fiber

    def run(self) -> None:
        """Run until `end` is called.

        Raises:
            WorldStuck: nothing is due any more, or there were more than `steps_max` steps.
        """
        assert getcurrent() is self._hub, "the world is run in the greenlet that created it"
        while not self._over:
            fiber, self._unstarted = self._unstarted or self._next(), None
            if fiber is not None:
                self.current = fiber
                fiber.body.switch()
            elif not self._over:
                raise WorldStuck("no fiber or action is due any more")

    def end(self) -> None:
        """Let `run` return as soon as the current fiber waits or ends."""
        self._over = True

    def close(self) -> None:
        """End every remaining fiber, to free its memory. Call it after `run`, also if that raised."""
        self._over = True
        for life in self._lives:
            life.alive = False
            for fiber in list(life.fibers):
                if fiber.body:  # it has begun
                    self.current = fiber
                    fiber.body.throw(Died)
            life.fibers.clear()
        self.current = None
        self._due.clear()

    def _push(self, instant_ns: int, what: Fiber | Callable[[], None], ticket: int) -> None:
        self._order = order = self._order + 1
        heappush(self._due, (instant_ns, order, what, ticket))

    def _next(self) -> Fiber | None:
        """The next fiber to run, after executing the actions due before it. None: the end."""
        due = self._due
        while due and not self._over:
            instant_ns, _, what, ticket = heappop(due)
            if ticket == ACTION:
                self._step(instant_ns)
                what()  # type: ignore[operator]
                continue
            fiber: Fiber = what  # type: ignore[assignment]
            if fiber.ticket != ticket:
                continue
            self.now_ns = instant_ns
            if fiber.life.paused:
                fiber.life._deferred.append((fiber, ticket))
                continue
            self.steps += 1
            if self.steps > self._steps_max:
                raise self._stuck()
            return fiber
        return None

    def _block(self, fiber: Fiber) -> None:
        following = self._next()
        if following is not fiber:
            if following is None:
                self._hub.switch()
            elif following.body:
                self.current = following
                following.body.switch()
            else:
                # It has not begun. Started from here it would inherit this fiber's recursion depth, so the hub starts it.
                self._unstarted = following
                self._hub.switch()
            self.current = fiber
        if not fiber.life.alive:
            raise Died

    def _step(self, instant_ns: int) -> None:
        self.now_ns = instant_ns
        self.steps += 1
        if self.steps > self._steps_max:
            raise self._stuck()

    def _stuck(self) -> WorldStuck:
        return WorldStuck(f"more than {self._steps_max} steps, at {self.now_ns / 1e9:.3f} s")
