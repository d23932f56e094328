"""Numbers of a scenario that the seed draws: ranges, and the draw."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from random import Random
from typing import Any, Generic, TypeVar

N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class Between(Generic[N]):
    """A number drawn by the seed, both ends included."""

    low: N
    high: N

    def draw(self, chance: Random) -> N:
        """The number for this seed."""
        if isinstance(self.low, int) and isinstance(self.high, int):
            return chance.randint(self.low, self.high)
        return round(chance.uniform(self.low, self.high), 3)


def drawn(number: N | Between[N]) -> N:
    """The number, in a plan, where every range has been drawn."""
    assert not isinstance(number, Between), "a plan holds no range"
    return number


def draw(number: N | Between[N], chance: Random) -> N:
    """The number itself, or one drawn from the range."""
    return number.draw(chance) if isinstance(number, Between) else number


def draw_all(ranges: Mapping[str, Between[int] | Between[float]], chance: Random) -> dict[str, Any]:
    """One number for each range, in the order of their names."""
    return {name: ranges[name].draw(chance) for name in sorted(ranges)}


def ranges_of(data: Any) -> dict[str, Between[int] | Between[float]]:
    """The fields of a data class that are still ranges, by name."""
    found = {field.name: getattr(data, field.name) for field in fields(data)}
    return {name: value for name, value in found.items() if isinstance(value, Between)}


def times(number: Any, factor: float) -> Any:
    """The number, or both ends of the range, multiplied by the factor and rounded; at least 1."""
    if isinstance(number, Between):
        return Between(times(number.low, factor), times(number.high, factor))
    return max(1, round(number * factor))
