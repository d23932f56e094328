"""The faults of chaos.simulation.injectors in the steps that the simulated nemesis takes."""

from random import Random
from typing import Protocol

from chaos import injection as life
from chaos.errors import ChaosError, FaultDidNotBite
from chaos.faults import Fault
from chaos.simulation import injectors
from chaos.simulation.kernel.scheduler import Waiters
from chaos.simulation.world import World


class CannotStrike(Exception):
    """There is nothing here that this fault could strike."""


class Injection(Protocol):
    """One fault in this world. One that `lies_in_wait` bites when the traffic it waits for comes, and then wakes `bitten`."""

    target: str
    bitten: Waiters
    lies_in_wait: bool

    def is_possible(self) -> bool:
        """Whether there is something to strike now."""

    def begin(self) -> None:
        """Do it, or lie in wait."""

    def evidence(self) -> str:
        """What was seen of its bite; "": it has not bitten yet."""

    def end(self) -> None:
        """Lift it; idempotent, and harmless if it never began."""


class _Nothing:
    def __init__(self, why: FaultDidNotBite) -> None:
        self.target = why.target
        self.bitten: Waiters = []
        self.lies_in_wait = False

    def is_possible(self) -> bool:
        return False

    def begin(self) -> None:
        """There is nothing to strike."""

    def evidence(self) -> str:
        return ""

    def end(self) -> None:
        """It never began."""


class _Adapted:
    def __init__(self, fault: Fault, made: life.Injection) -> None:
        self.target = made.target
        self.bitten: Waiters = getattr(made, "_bitten", [])
        self.lies_in_wait = fault.waits_for_traffic
        self._made = made
        self._seen = ""

    def is_possible(self) -> bool:
        return True

    def begin(self) -> None:
        self._made.begin()
        if not self.lies_in_wait:
            self._seen = self._made.await_bite(10.0).words

    def evidence(self) -> str:
        if not self._seen:
            try:
                seen = self._made.await_bite(0.0)
            except FaultDidNotBite:
                return ""
            self._seen = f"{seen.words}: {' '.join(message.body for message in seen.messages)}"
        return self._seen

    def end(self) -> None:
        self._made.end()


def injection(world: World, fault: Fault, chance: Random) -> Injection:
    """The fault, ready to begin.

    Raises:
        CannotStrike: the world has no such process.
    """
    try:
        return _Adapted(fault, injectors.injection(fault, world, chance))
    except FaultDidNotBite as nothing:
        return _Nothing(nothing)
    except ChaosError as error:
        raise CannotStrike(str(error)) from error
