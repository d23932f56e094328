"""What a person, or a client beside the tasks, does during a workload: each kind of deed is one frozen class.

To add one: a class here, and its import in scenario.py, where scenarios find it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from scenarios.contract.system import Pause, Resume, SetSchedule
from scenarios.experiment.arrival import Act, Arrival, Limits, RedriveWhenDead
from scenarios.experiment.ranges import Between, draw

FATAL = frozenset({"transient", "permanent", "unknown", "die"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed(ABC):
    """`needs`: the capabilities without which the lab plans nothing of it."""

    needs: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def acts(self, arrivals: Sequence[Arrival], chance: Random, limits: Limits) -> Sequence[Act]:
        """What is done when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PausesTasks(Deed):
    """From `at_s` on, for `lasts_s` seconds, the tasks of a scope (of the first `scopes` one by chance) are paused; 0 scopes: all."""

    needs = frozenset({"pause", "resume"})

    at_s: float | Between[float]
    lasts_s: float | Between[float]
    scopes: int = 0

    def acts(self, arrivals: Sequence[Arrival], chance: Random, limits: Limits) -> Sequence[Act]:
        """The pause, and its end."""
        begin_s, lasts_s = draw(self.at_s, chance), draw(self.lasts_s, chance)
        one = chance.randint(1, self.scopes) if self.scopes and "scope" in limits.capabilities else 0
        scope = f"scope-{one}" if one else None
        return (Act(begin_s, Pause(scope)), Act(round(begin_s + lasts_s, 3), Resume(scope)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RedrivesDead(Deed):
    """Every task that is planned to die, `most` of them, is put back when it is dead."""

    needs = frozenset({"redrive"})

    most: int = 3

    def acts(self, arrivals: Sequence[Arrival], chance: Random, limits: Limits) -> Sequence[Act]:
        """One for each of these tasks."""
        doomed = [arrival for arrival in arrivals if _is_doomed(arrival, limits)]
        return [Act(arrival.at_s, RedriveWhenDead(arrival.submit.task)) for arrival in doomed[: self.most]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetsSchedule(Deed):
    """At `at_s` a client sets up a schedule of `times` occurrences, one every `every_s` seconds."""

    needs = frozenset({"schedule"})

    at_s: float | Between[float]
    every_s: float
    times: int

    def acts(self, arrivals: Sequence[Arrival], chance: Random, limits: Limits) -> Sequence[Act]:
        """One."""
        name = f"every-{self.every_s:g}-s"
        payload = {"task": name, "work_s": 0.01}
        return (Act(draw(self.at_s, chance), SetSchedule(name, self.every_s, self.times, payload)),)


def _is_doomed(arrival: Arrival, limits: Limits) -> bool:
    """Whether its first budget of attempts ends in a dead letter, if no fault comes between."""
    outcomes = arrival.submit.payload.get("outcomes") or []
    assert isinstance(outcomes, list), "a plan's outcomes are a list"
    first = outcomes[: limits.attempts_max]
    if not first:
        return False
    return FATAL.issuperset(first) and (len(first) == limits.attempts_max or limits.policy.is_permanent(first[-1]))
