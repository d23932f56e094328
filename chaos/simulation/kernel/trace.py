"""What happened in a world, step by step: for its digest, by which two runs are compared, and for the story of a failure."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """An operation that took effect at `at_ns`: the fiber that asked for it, the service, the operation, and its subject."""

    at_ns: int
    fiber: str
    service: str
    what: str
    subject: str


class Trace:
    """The steps of one world: bare while it runs, because most traces are never read."""

    def __init__(self) -> None:
        self._bare: list[tuple[int, str, str, str, str]] = []
        self._steps: list[Step] = []

    @property
    def steps(self) -> Sequence[Step]:
        """All of them by now, in order."""
        if len(self._steps) < len(self._bare):
            self._steps += map(Step._make, self._bare[len(self._steps) :])
        return self._steps

    def note(self, at_ns: int, fiber: str, service: str, what: str, subject: str = "") -> None:
        """One more step."""
        self._bare.append((at_ns, fiber, service, what, subject))

    def digest(self) -> str:
        """The same for two runs if and only if the same happened in both, in the same order and at the same instants."""
        whole = hashlib.blake2b(digest_size=12)
        for step in self._bare:
            whole.update("\x1f".join(map(str, step)).encode())
            whole.update(b"\x1e")
        return whole.hexdigest()
