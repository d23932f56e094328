"""Random numbers and identifiers, all from the seed."""

from collections.abc import Callable
from random import Random


class SimulatedEntropy:
    """The random numbers of one process; later identifiers sort later, as far as its wall clock is right."""

    def __init__(self, seed: str, wall_ns: Callable[[], int]) -> None:
        self._random = Random(seed)
        self._wall_ns = wall_ns

    def uniform(self, low: float, high: float) -> float:
        """A random number in [low, high]."""
        return low + (high - low) * self._random.random()

    def identifier(self) -> str:
        """An identifier in the form of a UUID version 7: milliseconds of this process's wall clock, then random bits."""
        ms = f"{self._wall_ns() // 1_000_000:012x}"
        chance = f"{self._random.getrandbits(74):019x}"
        return f"{ms[:8]}-{ms[8:]}-7{chance[:3]}-8{chance[3:6]}-{chance[6:18]}"
