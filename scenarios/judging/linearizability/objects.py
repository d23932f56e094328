"""Locks and statuses of a history as calls on small objects, for the linearizability checker: an extra check beside the promises. Pure.

A lock is a mutex: acquired between request and answer, free again when released, or at any time after it expired. A task's status is
a register: each row of the audit trail writes it between its own instant and the next row's, each read reads it between request and
answer. A status served from a cache can keep its promise and still not be linearizable; this check shows it.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from scenarios.judging.leases import expiry_ns
from scenarios.judging.linearizability.search import FOREVER, Call, Model, Mutex, Register
from scenarios.record.history import Event, History


def lock_calls(history: History) -> Iterator[Call]:
    """Every acquisition, and the release or expiry that ends it, by resource; renewals move the expiry."""
    for resource, events in history.leases.items():
        held: dict[str, tuple[Event, int]] = {}  # by holder: its acquisition and its expiry
        for event in events:
            if event.event == "lease.released":
                if event.actor in held:
                    yield from _hold(resource, *held.pop(event.actor), released_ns=event.t_ns)
                continue
            acquired, until_ns = held.get(event.actor, (event, 0))
            if acquired is not event and event.t_ns >= until_ns:
                yield from _hold(resource, acquired, until_ns)
                acquired = event
            held[event.actor] = (acquired, expiry_ns(event))
        for acquired, until_ns in held.values():
            yield from _hold(resource, acquired, until_ns)


def _hold(resource: str, acquired: Event, until_ns: int, released_ns: int = FOREVER) -> Iterator[Call]:
    yield Call("acquire", None, _asked_ns(acquired), acquired.t_ns, key=resource)
    if released_ns < until_ns:
        yield Call("release", None, released_ns, released_ns, key=resource)
    else:
        yield Call("release", None, until_ns, FOREVER, is_known=False, key=resource)


def status_calls(history: History) -> Iterator[Call]:
    """Every row and every read of each task that has both."""
    for timeline in history.tasks.values():
        if not timeline.states or not timeline.statuses:
            continue
        ends = [following.t_ns for _, following in pairwise(timeline.states)]
        for row, end_ns in zip(timeline.states, [*ends, FOREVER], strict=True):
            yield Call("write", row.to, row.t_ns, end_ns, key=timeline.task)
        for read in timeline.statuses:
            yield Call("read", read.state, _asked_ns(read), read.t_ns, key=timeline.task)


def _asked_ns(event: Event) -> int:
    return event.t_ns if event.asked_ns is None else event.asked_ns


OBJECTS: Mapping[str, tuple[Model, Callable[[History], Iterator[Call]]]] = {
    "lock": (Mutex(), lock_calls),
    "status": (Register(), status_calls),
}
"""The objects that can be checked, by name."""
