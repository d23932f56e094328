"""Jepsen's checkers for queues, sets and ids, as its tests define them. Each returns Jepsen's result: `valid` and its other fields.

Source: jepsen-io/jepsen, jepsen/src/jepsen/checker.clj, restated in tests/cases/jepsen-queue-cases.json.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scenarios.judging.jepsen.operations import MalformedHistory, Operation, hashable

Result = dict[str, Any]
QUANTILES = (0, 0.5, 0.95, 0.99, 1)
WORST_SHOWN = 8


def total_queue(history: Sequence[Operation], model: str = "") -> Result:
    """No acknowledged value is lost, and no value is dequeued that no operation tried to enqueue."""
    attempts: Counter[Any] = Counter(hashable(op.value) for op in history if op.f == "enqueue" and op.kind == "invoke")
    enqueues: Counter[Any] = Counter(hashable(op.value) for op in history if op.f == "enqueue" and op.kind == "ok")
    dequeues: Counter[Any] = Counter(map(hashable, dequeued(history)))
    ok = dequeues & attempts
    unexpected = Counter({value: count for value, count in dequeues.items() if value not in attempts})
    duplicated = dequeues - attempts - unexpected
    lost = enqueues - dequeues
    recovered = ok - enqueues
    return {
        "valid": not lost and not unexpected,
        **_listed(lost=lost, unexpected=unexpected, duplicated=duplicated, recovered=recovered),
        "attempt_count": attempts.total(),
        "acknowledged_count": enqueues.total(),
        "ok_count": ok.total(),
    }


def dequeued(history: Iterable[Operation]) -> list[Any]:
    """Every dequeued value, drains included.

    Raises:
        MalformedHistory: a drain whose outcome is unknown.
    """
    values: list[Any] = []
    for op in history:
        if op.f == "dequeue" and op.kind == "ok":
            values.append(op.value)
        elif op.f == "drain" and op.kind == "ok":
            values.extend(op.value or [])
        elif op.f == "drain" and op.kind == "info":
            raise MalformedHistory(f"operation {op.index}: a drain has an unknown outcome, so its values are unknown")
    return values


def queue(history: Sequence[Operation], model: str = "unordered-queue") -> Result:
    """Every dequeued value was enqueued before; every attempted enqueue counts as done, at its invocation."""
    waiting: deque[Any] = deque()
    counts: Counter[Any] = Counter()
    for op in history:
        value = hashable(op.value)
        if op.f == "enqueue" and op.kind == "invoke":
            waiting.append(value)
            counts[value] += 1
        elif op.f == "dequeue" and op.kind == "ok":
            if model == "fifo-queue":
                if not waiting or waiting.popleft() != value:
                    return {"valid": False, "error": f"can't dequeue {op.value!r}"}
            elif counts[value] == 0:
                return {"valid": False, "error": f"can't dequeue {op.value!r}"}
            counts[value] -= 1
    return {"valid": True}


def final_set(history: Sequence[Operation], model: str = "") -> Result:
    """The last read contains every acknowledged element, and no element that no operation tried to add."""
    attempts = {hashable(op.value) for op in history if op.f == "add" and op.kind == "invoke"}
    acknowledged = {hashable(op.value) for op in history if op.f == "add" and op.kind == "ok"}
    reads = [op.value for op in history if op.f == "read" and op.kind == "ok" and op.value is not None]
    if not reads:
        return {"valid": "unknown", "error": "the set was never read"}
    read = set(map(hashable, reads[-1]))
    parts = {
        "ok": read & attempts,
        "lost": acknowledged - read,
        "unexpected": read - attempts,
        "recovered": (read & attempts) - acknowledged,
    }
    return {
        "valid": not parts["lost"] and not parts["unexpected"],
        **_listed(**{name: Counter(values) for name, values in parts.items()}),
        "attempt_count": len(attempts),
        "acknowledged_count": len(acknowledged),
    }


def unique_ids(history: Sequence[Operation], model: str = "") -> Result:
    """No id is generated twice."""
    generated: Counter[Any] = Counter(hashable(op.value) for op in history if op.f == "generate" and op.kind == "ok")
    duplicated = {value: count for value, count in generated.items() if count > 1}
    ordered = in_order(generated)
    return {
        "valid": not duplicated,
        "attempted_count": sum(op.f == "generate" and op.kind == "invoke" for op in history),
        "acknowledged_count": generated.total(),
        "duplicated_count": len(duplicated),
        "duplicated": {str(value): count for value, count in duplicated.items()},
        "range": [ordered[0], ordered[-1]] if ordered else [None, None],
    }


class _Element:
    """The reads of one element. Their instants are those of their invocations, the only certain ones."""

    def __init__(self) -> None:
        self.known: Operation | None = None
        self.last_present: Operation | None = None
        self.last_absent: Operation | None = None

    @property
    def is_stable(self) -> bool:
        return self.last_present is not None and _index(self.last_absent) < self.last_present.index

    @property
    def is_lost(self) -> bool:
        return (
            self.known is not None
            and self.last_absent is not None
            and _index(self.last_present) < self.last_absent.index
            and self.known.index < self.last_absent.index
        )

    def latency_ms(self, since: Operation | None) -> int:
        """Milliseconds from the first knowledge of the element to the last contrary read (`since`)."""
        assert self.known is not None
        settled_ns = 0 if since is None else since.time_ns + 1
        return max(0, settled_ns - self.known.time_ns) // 1_000_000


def set_full(history: Sequence[Operation], model: str = "") -> Result:
    """Every element that is known to be present stays present, by the last read with it and the last read without it."""
    elements = _elements(history)
    stable = {value: element for value, element in elements.items() if element.is_stable}
    lost = {value: element for value, element in elements.items() if element.is_lost and value not in stable}
    never_read = [value for value in elements if value not in stable and value not in lost]
    stable_latencies = {value: element.latency_ms(element.last_absent) for value, element in stable.items()}
    stale = {value: latency for value, latency in stable_latencies.items() if latency > 0}
    result: Result = {
        "valid": False if lost else True if stable else "unknown",
        "attempt_count": len(elements),
        "stable_count": len(stable),
        "duplicated_count": 0,
        "duplicated": {},  # Jepsen's detector compares frequencies with `< 1` and never finds any; docs/jepsen.md
        **_listed(lost=Counter(lost.keys()), never_read=Counter(never_read), stale=Counter(stale.keys())),
        "worst_stale": _worst(elements, stale),
    }
    if stable_latencies:
        result["stable_latencies_ms"] = _quantiles(stable_latencies.values())
    if lost:
        result["lost_latencies_ms"] = _quantiles(element.latency_ms(element.last_present) for element in lost.values())
    return result


def _elements(history: Sequence[Operation]) -> dict[Any, _Element]:
    elements: dict[Any, _Element] = {}
    reads: dict[int, Operation] = {}
    for op in history:
        if op.process is None:
            continue
        if op.f == "add" and op.kind == "invoke":
            elements[hashable(op.value)] = _Element()
        elif op.f == "add":
            element = elements.setdefault(hashable(op.value), _Element())
            if op.kind == "ok" and element.known is None:
                element.known = op
        elif op.f == "read" and op.kind == "invoke":
            reads[op.process] = op
        elif op.f == "read":
            invoked = reads.pop(op.process, None)
            if op.kind == "ok" and invoked is not None:
                _add_read(elements, invoked, op)
    return elements


def _add_read(elements: Mapping[Any, _Element], invoked: Operation, op: Operation) -> None:
    present = set(map(hashable, op.value or []))
    for value, element in elements.items():
        if value in present:
            element.known = element.known or op
            if _index(element.last_present) < invoked.index:
                element.last_present = invoked
        elif _index(element.last_absent) < invoked.index:
            element.last_absent = invoked


def _worst(elements: Mapping[Any, _Element], stale: Mapping[Any, int]) -> list[Result]:
    worst = sorted(stale, key=lambda value: stale[value], reverse=True)[:WORST_SHOWN]
    return [
        {
            "element": value,
            "known_index": _index(elements[value].known),
            "last_absent_index": _index(elements[value].last_absent),
            "outcome": "stable",
            "stable_latency_ms": stale[value],
        }
        for value in worst
    ]


def _index(op: Operation | None) -> int:
    return -1 if op is None else op.index


def _quantiles(latencies: Iterable[int]) -> dict[str, int]:
    ordered = sorted(latencies)
    last = len(ordered) - 1
    return {str(point): ordered[min(last, math.floor(len(ordered) * point))] for point in QUANTILES}


def _listed(**parts: Counter[Any]) -> Result:
    lists: Result = {name: in_order(values.elements()) for name, values in parts.items()}
    return {**lists, **{f"{name}_count": len(values) for name, values in lists.items()}}


def in_order(values: Iterable[Any]) -> list[Any]:
    """Sorted, for values of any types: first numbers, then the others by their `repr`."""
    return sorted(values, key=lambda value: (0, value, "") if _is_number(value) else (1, 0, repr(value)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


CHECKERS: Mapping[str, Callable[[Sequence[Operation], str], Result]] = {
    "total-queue": total_queue,
    "queue": lambda history, model: queue(history, model or "unordered-queue"),
    "set": final_set,
    "set-full": set_full,
    "unique-ids": unique_ids,
}
"""Jepsen's checkers by their names in Jepsen."""
