"""What tasks of a workload may be beyond plain ones: each trait is one frozen class, given to a share of the tasks by the seed.

To add one: a class here, and its import in scenario.py, where scenarios find it. A trait that the system is not able to have is left
out of the plan (`needs`), and what `payload` says of it is done by the handler (scenarios/contract/tasklab_probe.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar

from scenarios.experiment.arrival import Arrival, Limits
from scenarios.experiment.ranges import Between, draw
from scenarios.judging.premise import UNSTATED_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Trait(ABC):
    """Of about `percent` of the tasks. `needs`: the capabilities without which the lab plans nothing of it.

    `is_of_handler`: the lab's handler carries it out; a task's own code would not.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    is_of_handler: ClassVar[bool] = False

    percent: int = 100

    def given(self, arrivals: Sequence[Arrival], chance: Random, limits: Limits) -> tuple[Arrival, ...]:
        """The same submissions, `percent` of them with this trait: at least one, where one may have it."""
        struck = self._struck(arrivals, chance)
        return tuple(
            self._given(arrival, chance, limits) if number in struck else arrival
            for number, arrival in enumerate(arrivals)
        )

    def _struck(self, arrivals: Sequence[Arrival], chance: Random) -> frozenset[int]:
        """The places of the submissions that get it."""
        places = [number for number, arrival in enumerate(arrivals) if self._may_have(arrival)]
        count = max(1, round(len(arrivals) * self.percent / 100))
        return frozenset(chance.sample(places, min(count, len(places))))

    def _may_have(self, arrival: Arrival) -> bool:
        """Whether nothing that is planned already stands against it."""
        return True

    @abstractmethod
    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        """One submission with the trait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending(Trait):
    """How its tries end; a task has one way to fail."""

    is_of_handler = True

    def _may_have(self, arrival: Arrival) -> bool:
        return "outcomes" not in arrival.submit.payload


@dataclass(frozen=True, slots=True, kw_only=True)
class FailsUnknown(_Ending):
    """It fails `times` times, with an error that does not say whether a retry may succeed."""

    times: int = 1

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return _with(arrival, outcomes=["unknown"] * self.times)


@dataclass(frozen=True, slots=True, kw_only=True)
class KillsWorker(_Ending):
    """Its handler ends its own process by SIGKILL, `times` times; None: always (poison)."""

    times: int | None = None

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return _with(arrival, outcomes=["die"] * (limits.attempts_max + 3 if self.times is None else self.times))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlastsLease(Trait):
    """It works for longer than the lease that the system states: `leases` times as long."""

    is_of_handler = True

    leases: float | Between[float] = 1.5

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        lease_s = limits.pace.lease_s or UNSTATED_S
        return _with(arrival, work_s=round(lease_s * draw(self.leases, chance), 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class HasResult(Trait):
    """Its handler hands back a result of `size` characters."""

    needs = frozenset({"result"})
    is_of_handler = True

    size: int | Between[int] = 20

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return _with(arrival, result_size=draw(self.size, chance))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsProgress(Trait):
    """Its handler reports its progress `times` times, and works for `work_s`."""

    is_of_handler = True

    times: int = 4
    work_s: float | Between[float] = 0.1

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return _with(arrival, reports=self.times, work_s=draw(self.work_s, chance))


@dataclass(frozen=True, slots=True, kw_only=True)
class HasChildren(Trait):
    """Its handler hands back `count` payloads to be submitted, each of which hands back the next of a chain of `deep` tasks.

    `joined`: and one payload to run when all of the `count` are done.
    """

    needs = frozenset({"children"})
    is_of_handler = True

    count: int | Between[int] = 3
    deep: int = 1
    joined: bool = True

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        task = arrival.submit.task
        children = [self._child(f"{task}.{number + 1}", self.deep) for number in range(draw(self.count, chance))]
        then = {"then": _plain(f"{task}.then")} if self.joined else {}
        return _with(arrival, children=children, **then)

    def _child(self, task: str, deep: int) -> dict[str, object]:
        return {**_plain(task), **({"children": [self._child(f"{task}.1", deep - 1)]} if deep > 1 else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class IsCancelled(Trait):
    """Its client withdraws it `after_s` seconds after its acknowledgement."""

    needs = frozenset({"cancel"})

    after_s: float | Between[float] = 0.1

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return replace(arrival, cancel_s=draw(self.after_s, chance))


@dataclass(frozen=True, slots=True, kw_only=True)
class HasDeadline(Trait):
    """It must not start later than `deadline_s` seconds after its submission."""

    needs = frozenset({"deadline"})

    deadline_s: float | Between[float] = 1.0

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return _submitting(arrival, deadline_s=draw(self.deadline_s, chance))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlastsDeadline(Trait):
    """It has a deadline, and works until `beyond_s` seconds after it, even if it starts at once."""

    needs = frozenset({"deadline"})
    is_of_handler = True

    deadline_s: float | Between[float] = 1.0
    beyond_s: float = 1.5

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        deadline_s = draw(self.deadline_s, chance)
        return _with(_submitting(arrival, deadline_s=deadline_s), work_s=round(deadline_s + self.beyond_s, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class IsScheduled(Trait):
    """It must not start earlier than `due_s` seconds after its submission."""

    needs = frozenset({"due"})

    due_s: float | Between[float] = 1.0

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return _submitting(arrival, due_s=draw(self.due_s, chance))


@dataclass(frozen=True, slots=True, kw_only=True)
class IsDueBeyondLease(Trait):
    """It must not start earlier than `leases` times the lease that the system states, after its submission."""

    needs = frozenset({"due"})

    leases: float | Between[float] = 1.5

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        lease_s = limits.pace.lease_s or UNSTATED_S
        return _submitting(arrival, due_s=round(lease_s * draw(self.leases, chance), 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class IsOrdered(Trait):
    """It has one of `keys` ordering keys."""

    needs = frozenset({"order_key"})

    keys: int = 3

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return _submitting(arrival, order_key=f"order-{chance.randint(1, self.keys)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HasPriority(Trait):
    """It has one of `classes` priorities, 1 the lowest."""

    needs = frozenset({"priority"})

    classes: int = 2

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return _submitting(arrival, priority=chance.randint(1, self.classes))


@dataclass(frozen=True, slots=True, kw_only=True)
class HasScope(Trait):
    """It has one of `scopes` scopes, `scope-1` and so on."""

    needs = frozenset({"scope"})

    scopes: int = 2

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return _submitting(arrival, scope=f"scope-{chance.randint(1, self.scopes)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class IsResubmitted(Trait):
    """Its client submits it `times` times more by the same key, as after an answer that was lost."""

    needs = frozenset({"key"})

    times: int = 1

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return replace(arrival, again=self.times)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesKey(Trait):
    """After `after_s` seconds another task, with another payload, is submitted once under the same key."""

    needs = frozenset({"key"})

    after_s: float | Between[float] = 0.5

    def given(self, arrivals: Sequence[Arrival], chance: Random, limits: Limits) -> tuple[Arrival, ...]:
        """The same submissions, and the others among them by their time."""
        struck = self._struck(arrivals, chance)
        others = [self._given(arrivals[number], chance, limits) for number in sorted(struck)]
        return tuple(sorted([*arrivals, *others], key=lambda arrival: arrival.at_s))

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        task = f"{arrival.submit.task}-again"
        other = replace(
            arrival, at_s=round(arrival.at_s + draw(self.after_s, chance), 3), tries=1, again=0, cancel_s=None
        )
        return _submitting(other, task=task, payload={**arrival.submit.payload, "task": task})


@dataclass(frozen=True, slots=True, kw_only=True)
class OfFewUsers(Trait):
    """All tasks are of `users` users, who so come to their limits."""

    users: int = 2

    def _given(self, arrival: Arrival, chance: Random, limits: Limits) -> Arrival:
        return _submitting(arrival, user=f"user-{chance.randint(1, self.users)}")


def _with(arrival: Arrival, **payload: object) -> Arrival:
    return _submitting(arrival, payload={**arrival.submit.payload, **payload})


def _submitting(arrival: Arrival, **fields: Any) -> Arrival:
    return replace(arrival, submit=replace(arrival.submit, **fields))


def _plain(task: str) -> dict[str, object]:
    return {"task": task, "work_s": 0.01}
