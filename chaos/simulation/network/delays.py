"""The delays of requests and answers: they alone decide the order of events."""

import math
from collections.abc import Callable, Mapping
from random import Random

from chaos.simulation.kernel.scheduler import Fiber

BASE_NS = 100_000
"""Duration of a request, or of an answer, without any disturbance."""

Draw = Callable[[], int]
Stated = Mapping[str, Mapping[int, int]]
"""By fiber, then by leg (twice the number of the call, plus one for its answer): nanoseconds."""


class Delays:
    """Either drawn, call by call, or as stated. `deviations`, if it is a dict, collects delays other than `BASE_NS`, in that form."""

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
        """For the fiber's present call: its request (leg 0) or its answer (leg 1)."""
        if self._draw is None:
            stated = self._stated.get(fiber.name)
            delay_ns = BASE_NS if stated is None else stated.get(2 * fiber.calls + leg, BASE_NS)
        else:
            delay_ns = self._draw()
        if delay_ns != BASE_NS and self.deviations is not None:
            self.deviations.setdefault(fiber.name, {})[2 * fiber.calls + leg] = delay_ns
        return delay_ns


def erratic(chance: Random, *, slow_share: float, slow_s: float) -> Draw:
    """Every leg is drawn: most around the base, a share of them up to `slow_s`, the long ones seldom."""
    draw = chance.random
    slow_ns = slow_s * 1e9
    span = math.log(slow_ns / BASE_NS)

    def leg_ns() -> int:
        if draw() < slow_share:
            return int(BASE_NS * math.exp(span * draw()))
        return int(BASE_NS * (0.5 + draw()))

    return leg_ns


def preempting(chance: Random, *, times: int, among: int, longest_s: float) -> Draw:
    """Steady except for a few long preemptions, at legs drawn among the first `among`.

    What a priority-based scheduler does (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
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
