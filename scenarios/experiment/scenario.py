"""The words a scenario is made of: what clients do, which fault strikes when, and which promises are at stake. Frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Generic, TypeVar

from chaos.faults import Fault
from scenarios.judging.guarantees import Guarantee

N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class Between(Generic[N]):
    """A number that each seed draws anew, both ends included."""

    low: N
    high: N

    def draw(self, chance: Random) -> N:
        """The number for this seed."""
        if isinstance(self.low, int) and isinstance(self.high, int):
            return chance.randint(self.low, self.high)
        return round(chance.uniform(self.low, self.high), 3)


def drawn(number: N | Between[N]) -> N:
    """The number that stands in a plan: there every range has been drawn."""
    assert not isinstance(number, Between), "a plan holds no range"
    return number


@dataclass(frozen=True, slots=True)
class AtStart:
    """When the workload begins. For faults that wait for traffic by themselves."""


@dataclass(frozen=True, slots=True)
class AttemptBegun:
    """When the `nth` attempt of the run has been claimed and has begun, and has had no effect yet."""

    nth: int | Between[int]


@dataclass(frozen=True, slots=True)
class EffectAccepted:
    """When the `nth` effect of the run was accepted, and its process does not know yet."""

    nth: int | Between[int]


@dataclass(frozen=True, slots=True)
class LeaderAtWork:
    """When the leader of the sweep, lock in hand, is about to do its work for the `nth` time."""

    nth: int | Between[int]


@dataclass(frozen=True, slots=True)
class Effects:
    """When `count` effects of the run were accepted, the warm-up's apart; nobody is held up."""

    count: int | Between[int]


ACKNOWLEDGED_WITHIN_S = 5.0
"""A system that acknowledges nothing while it is struck is not waited for any longer, and struck all the same."""


@dataclass(frozen=True, slots=True)
class PreviousBit:
    """When the strike before this one has bitten, `wait_s` have passed, and `acknowledged` submissions were acknowledged since."""

    wait_s: float | Between[float]
    acknowledged: int = 0


Trigger = AtStart | AttemptBegun | EffectAccepted | LeaderAtWork | Effects | PreviousBit


@dataclass(frozen=True, slots=True)
class UntilNextBites:
    """As long as it takes the next strike to bite."""


@dataclass(frozen=True, slots=True)
class Outlasting:
    """So long that what the system calls its `lease` or `lock` has surely run out: `times` its stated duration."""

    what: str
    times: float | Between[float]


Duration = float | Between[float] | UntilNextBites | Outlasting


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault: which, when, and for how long before it is lifted. `drawn` names fields of the fault that each seed draws anew."""

    fault: Fault
    when: Trigger
    lasts_s: Duration = 0.0
    drawn: Mapping[str, Between[int] | Between[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workload:
    """What clients do: `tasks` submissions at `rate_per_s`, each working `work_s`, each submitted again until it is accepted.

    Of every hundred tasks about `failing_once` fail once in a way that heals, `failing_always` fail until their attempts are used
    up, and `failing_for_good` fail in a way that no retry heals.
    """

    tasks: int
    rate_per_s: float
    work_s: float | Between[float] = 0.02
    failing_once: int = 0
    failing_always: int = 0
    failing_for_good: int = 0
    clients: int = 8


@dataclass(frozen=True, slots=True)
class Scenario:
    """An experiment. `story` says in one or two sentences what happens and what must not come of it."""

    name: str
    story: str
    workload: Workload
    strikes: tuple[Strike, ...]
    at_stake: tuple[Guarantee, ...]
