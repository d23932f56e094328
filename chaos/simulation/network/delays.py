"""The delays of requests and answers: they decide the order of events."""

import math
from collections.abc import Callable, Mapping
from random import Random

from chaos.simulation.kernel.scheduler import Fiber

BASE_NS = 100_000
"""Duration of an undisturbed request or answer."""

Draw = Callable[[], int]
Stated = Mapping[str, Mapping[int, int]]
"""Nanoseconds by fiber, then by leg (2 * number of the call, + 1 for its answer)."""


class Delays:
    """Delays drawn for each call, or as stated. `deviations`, if a dict, collects delays other than `BASE_NS`, in the same form."""

    def __init__(
        self,
        draw: Draw | None = None,
        stated: Stated | None = None,
        deviations: dict[str, dict[int, int]] | None = None,
    ) -> None:
        self._draw = draw
        self._stated = stated or {}
        self.deviations = deviations

    def leg_ns(self, fiber: Fiber, leg: int) -> int:
        """The delay of the fiber's current call: of its request (leg 0) or answer (leg 1)."""
        if self._draw is None:
            stated = self._stated.get(fiber.name)
            delay_ns = BASE_NS if stated is None else stated.get(2 * fiber.calls + leg, BASE_NS)
        else:
            delay_ns = self._draw()
        if delay_ns != BASE_NS and self.deviations is not None:
            self.deviations.setdefault(fiber.name, {})[2 * fiber.calls + leg] = delay_ns
        return delay_ns


def erratic(chance: Random, *, slow_share: float, slow_s: float) -> Draw:
    """Draw every leg: most near the base, the share `slow_share` up to `slow_s`, log-uniformly."""
    draw = chance.random
    slow_ns = slow_s * 1e9
    span = math.log(slow_ns / BASE_NS)

    def leg_ns() -> int:
        if draw() < slow_share:
            return int(BASE_NS * math.exp(span * draw()))
        return int(BASE_NS * (0.5 + draw()))

    return leg_ns


def preempting(chance: Random, *, times: int, among: int, longest_s: float) -> Draw:
    """Constant delays, except a few long preemptions at legs drawn among the first `among`.

    Like a priority-based scheduler (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
    ASPLOS 2010), on a clock: with d preemptions a bug that needs d is met with a probability that falls with `among` to the power d.
    """
    span = math.log(longest_s * 1e9 / BASE_NS)
    long_ns = {chance.randrange(among): int(BASE_NS * math.exp(span * chance.random())) for _ in range(times)}
    count = -1

    def leg_ns() -> int:
        nonlocal count
        count += 1
        return long_ns.get(count, BASE_NS)

    return leg_ns
