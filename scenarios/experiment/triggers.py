"""Triggers of strikes: each is one frozen class that waits for its moment, describes it, and scales with the load.

To add a trigger: a class here, its name in TRIGGERS, and an import in scenario.py, where scenarios find it. Random worlds use it once
`_KINDS` in scenarios/simulated/worlds/swarm.py has a function that draws it.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import ClassVar, Literal, Protocol, Self

from scenarios.experiment.outside import Outside, Point, SyncPoint
from scenarios.experiment.ranges import Between, drawn, times
from scenarios.experiment.stage import Signal
from scenarios.experiment.submissions import Submissions

LEADER_ROLE = "rescuer"
ACKNOWLEDGED_WITHIN_S = 5.0
"""Maximum wait for acknowledgements: a system that acknowledges nothing during a fault still gets the next one."""


class Watch(Protocol):
    """What a trigger can observe while it waits."""

    @property
    def outside(self) -> Outside:
        """The outside resource, with its counts."""

    @property
    def submissions(self) -> Submissions:
        """The submissions, with their counts."""

    @property
    def sync_point(self) -> SyncPoint | None:
        """The sync point of this strike; None: its trigger has no `point`."""

    @property
    def effects_before(self) -> int:
        """Effects accepted before the storm began."""

    def until(self, signal: Signal, is_met: Callable[[], bool]) -> None:
        """Wait for the condition, checked whenever `signal` is notified.

        Raises:
            FaultDidNotBite: the storm is over, and the condition was never met.
        """

    def at_most(self, seconds: float, signal: Signal, is_met: Callable[[], bool]) -> None:
        """As `until`, but go on after that many seconds, or when the storm is over."""

    def rest(self, seconds: float) -> None:
        """Sleep."""

    def until_previous_is_over(self) -> None:
        """Wait for the end of the previous strike, successful or not.

        Raises:
            FaultDidNotBite: the storm is over before.
        """

    def until_previous_bit(self) -> int:
        """Wait for the bite of the previous strike; returns the number of submissions acknowledged by then.

        Raises:
            FaultDidNotBite: it did not bite.
        """


@dataclass(frozen=True, slots=True)
class Trigger:
    """A moment of the storm. The class is the kind of moment; its fields select the moment in the run.

    `template`: the moment as text, with its fields in braces. `counter`, `grows_with`: the field that counts, and whether it grows
    with the number of tasks (`tasks`) or the duration of the load (`time`). `point`: where the process that sets it off is caught, and
    held until the fault has bitten. `role`, `role_words`: a role without which the moment never comes, and its name for people.
    """

    template: ClassVar[str]
    counter: ClassVar[str] = ""
    grows_with: ClassVar[Literal["tasks", "time"]] = "tasks"
    point: ClassVar[Point | None] = None
    role: ClassVar[str | None] = None
    role_words: ClassVar[str] = ""

    def await_on(self, watch: Watch) -> None:
        """Block until the moment comes.

        Raises:
            FaultDidNotBite: it never came.
        """
        self._wait(watch)

    def words(self) -> str:
        """The moment as text, for run.json, messages and reports."""
        return self.template.format(**asdict(self))

    def scaled(self, more_tasks: float, longer: float) -> Self:
        """The same moment in a load with `more_tasks` times the tasks and `longer` times the duration."""
        if not self.counter:
            return self
        factor = {"tasks": more_tasks, "time": longer}[self.grows_with]
        return replace(self, **{self.counter: times(getattr(self, self.counter), factor)})

    def _wait(self, watch: Watch) -> None:
        """Wait for the moment; by default it has come."""


@dataclass(frozen=True, slots=True)
class AtStart(Trigger):
    """At the start of the workload. For faults that wait for traffic by themselves."""

    template = "from the start"


@dataclass(frozen=True, slots=True)
class AtTime(Trigger):
    """A number of seconds after the start of the workload."""

    template = "at {at_s:.3f} s"

    at_s: float | Between[float]

    def _wait(self, watch: Watch) -> None:
        watch.rest(drawn(self.at_s))


@dataclass(frozen=True, slots=True)
class _AtPoint(Trigger):
    """When the run reaches a point for the `nth` time; the process is held there until the fault has bitten."""

    counter = "nth"

    nth: int | Between[int]

    def _wait(self, watch: Watch) -> None:
        point = watch.sync_point
        assert point is not None, "its point was armed at the start of the storm"
        watch.until(point.reached, lambda: point.is_reached)


@dataclass(frozen=True, slots=True)
class AttemptBegun(_AtPoint):
    """When the `nth` attempt of the run has claimed its task and begun, before any effect."""

    template = "attempt {nth} has begun"
    point = "attempt"


@dataclass(frozen=True, slots=True)
class EffectAccepted(_AtPoint):
    """When the `nth` effect of the run was accepted, before its process gets the answer."""

    template = "effect {nth} was accepted, its process not yet told"
    point = "effect"


@dataclass(frozen=True, slots=True)
class LeaderAtWork(_AtPoint):
    """When the leader of the sweep, holding its lock, is about to do its work for the `nth` time."""

    template = "the leader is at work for time {nth}"
    grows_with = "time"  # sweeps are periodic
    point = "leader"
    role = LEADER_ROLE
    role_words = "leader"


@dataclass(frozen=True, slots=True)
class Effects(Trigger):
    """When `count` effects of the storm were accepted (without that of the warm-up); no process is held."""

    template = "{count} effects were accepted"
    counter = "count"

    count: int | Between[int]

    def _wait(self, watch: Watch) -> None:
        count = watch.effects_before + drawn(self.count)
        watch.until(watch.outside.counted, lambda: watch.outside.count("effect") >= count)


@dataclass(frozen=True, slots=True)
class PreviousBit(Trigger):
    """When, since the bite of the previous strike, `wait_s` have passed and `acknowledged` submissions were acknowledged."""

    template = "{wait_s} s after the strike before it bit"

    wait_s: float | Between[float]
    acknowledged: int = 0

    def words(self) -> str:
        """The moment as text."""
        since = f", and {self.acknowledged} submissions were acknowledged since" if self.acknowledged else ""
        return Trigger.words(self) + since

    def _wait(self, watch: Watch) -> None:
        count = watch.until_previous_bit() + self.acknowledged
        watch.rest(drawn(self.wait_s))
        if self.acknowledged:
            submissions = watch.submissions
            watch.at_most(ACKNOWLEDGED_WITHIN_S, submissions.answered, lambda: submissions.acknowledged >= count)


@dataclass(frozen=True, slots=True)
class PreviousOver(Trigger):
    """`wait_s` after the end of the previous strike: its target is healthy again."""

    template = "{wait_s} s after the end of the strike before it"

    wait_s: float | Between[float]

    def _wait(self, watch: Watch) -> None:
        watch.until_previous_is_over()
        watch.rest(drawn(self.wait_s))


TRIGGERS: Mapping[str, type[Trigger]] = {
    kind.__name__: kind
    for kind in (AtStart, AtTime, AttemptBegun, EffectAccepted, LeaderAtWork, Effects, PreviousBit, PreviousOver)
}
"""Every trigger by its name in tokens."""
