"""The steps of a world: for its digest, by which two runs are compared, and for the story of a failure."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """An operation that took effect at `at_ns`: the calling fiber, the service, the operation, and its subject."""

    at_ns: int
    fiber: str
    service: str
    what: str
    subject: str


class Trace:
    """The steps of one world, kept as plain tuples while it runs, because most traces are never read."""

    def __init__(self) -> None:
        self._recorded: list[tuple[int, str, str, str, str]] = []
        self._steps: list[Step] = []

    @property
    def steps(self) -> Sequence[Step]:
        """All steps so far, in order."""
        if len(self._steps) < len(self._recorded):
            self._steps += map(Step._make, self._recorded[len(self._steps) :])
        return self._steps

    def note(self, at_ns: int, fiber: str, service: str, what: str, subject: str = "") -> None:
        """Record a step."""
        self._recorded.append((at_ns, fiber, service, what, subject))

    def digest(self) -> str:
        """Equal for two runs if and only if both have the same steps, in the same order and at the same instants."""
        whole = hashlib.blake2b(digest_size=12)
        for step in self._recorded:
            whole.update("\x1f".join(map(str, step)).encode())
            whole.update(b"\x1e")
        return whole.hexdigest()
