"""Linearizability: whether operations on one small object can have happened one after another, each between its call and its return.

Wing and Gong's search with Lowe's cache of tried configurations (the set of placed operations and the resulting state). An operation of
unknown outcome may take effect at any time after its call, or never. Pure.

Sources: J. M. Wing, C. Gong, "Testing and Verifying Concurrent Objects", JPDC 1993; G. Lowe, "Testing for Linearizability", CCPE 2017.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from scenarios.judging.verdict import Ruling

FOREVER = 2**63 - 1
"""The return of a call that never returned."""


@dataclass(frozen=True, slots=True)
class Call:
    """One operation with the times of its call and return. `is_known` False: it may have happened or not."""

    f: str
    value: Hashable
    called: int
    returned: int = FOREVER
    is_known: bool = True
    key: Hashable = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """`held`: an order exists; `broken`: none does, for the object `key`; `unknown`: the search gave up."""

    ruling: Ruling
    key: Hashable = None
    tried: int = 0


class Model(ABC):
    """The specification of an object: `step` gives the state after a call, or None if the call is impossible in this state."""

    initial: Hashable = None

    @abstractmethod
    def step(self, state: Hashable, call: Call) -> tuple[Hashable] | None:
        """The next state, in a tuple of one (a state may be None)."""


class Register(Model):
    """`write` sets the value, `read` returns it. A read of unknown result (None) is always possible."""

    def step(self, state: Hashable, call: Call) -> tuple[Hashable] | None:
        """Write or read the value."""
        if call.f == "write":
            return (call.value,)
        if call.f == "read" and (call.value is None or call.value == state):
            return (state,)
        return None


class CasRegister(Register):
    """A register with `cas` of (old, new), which happens only if the value is the old one."""

    def step(self, state: Hashable, call: Call) -> tuple[Hashable] | None:
        """A `cas` swaps the value; other calls are those of a register."""
        if call.f != "cas":
            return super().step(state, call)
        assert isinstance(call.value, tuple), "the reader of operations refuses a cas without two values"
        old, new = call.value
        return (new,) if state == old else None


class Mutex(Model):
    """`acquire` is possible if it is free, `release` if it is held."""

    initial = False

    def step(self, state: Hashable, call: Call) -> tuple[Hashable] | None:
        """Acquire or release the lock."""
        if call.f == "acquire":
            return None if state else (True,)
        return (False,) if state else None


def linearizable(calls: Iterable[Call], model: Model, give_up: Callable[[], bool] = lambda: False) -> SearchAnswer:
    """Check each object (`key`) separately: a history is linearizable if and only if every object is.

    `give_up` is called from time to time; after it returns True the answer is unknown, unless another object is broken.
    """
    by_key: dict[Hashable, list[Call]] = defaultdict(list)
    for call in calls:
        by_key[call.key].append(call)
    tried = 0
    gave_up: SearchAnswer | None = None
    for key, group in by_key.items():
        answer = _search(group, model, give_up)
        tried += answer.tried
        if answer.ruling is Ruling.BROKEN:
            return SearchAnswer(Ruling.BROKEN, key, tried)
        if answer.ruling is Ruling.UNKNOWN:
            gave_up = SearchAnswer(Ruling.UNKNOWN, key, tried)
    return gave_up or SearchAnswer(Ruling.HELD, None, tried)


def _search(calls: Sequence[Call], model: Model, give_up: Callable[[], bool]) -> SearchAnswer:
    """Depth-first search over configurations (placed operations as a bit mask, state)."""
    ordered = sorted(calls, key=lambda call: call.called)
    known = sum(1 << place for place, call in enumerate(ordered) if call.is_known)
    start = (0, model.initial)
    seen = {start}
    stack: list[tuple[int, Hashable]] = [start]
    while stack:
        placed, state = stack.pop()
        if placed & known == known:
            return SearchAnswer(Ruling.HELD, tried=len(seen))
        if len(seen) % 1024 == 0 and give_up():
            return SearchAnswer(Ruling.UNKNOWN, tried=len(seen))
        for following in _following(ordered, model, placed, state):
            if following not in seen:
                seen.add(following)
                stack.append(following)
    return SearchAnswer(Ruling.BROKEN, tried=len(seen))


def _following(ordered: Sequence[Call], model: Model, placed: int, state: Hashable) -> Iterable[tuple[int, Hashable]]:
    """The next configurations. A call can be placed next if it began before any unplaced known call had returned."""
    first_return = FOREVER
    place = _first_open(placed)
    following = []
    while place < len(ordered) and ordered[place].called <= first_return:
        call = ordered[place]
        if not placed >> place & 1:
            next_state = model.step(state, call)
            if next_state is not None:
                following.append((placed | 1 << place, next_state[0]))
            if call.is_known:
                first_return = min(first_return, call.returned)
        place += 1
    # The stack is last in, first out: the earliest call is tried first.
    return reversed(following)


def _first_open(placed: int) -> int:
    """The place of the lowest bit that is not set."""
    return (~placed & placed + 1).bit_length() - 1
