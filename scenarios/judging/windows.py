"""Rate windows: whether more than n events happened in one, and whether one had room (rules 12 and 25). Pure.

A window is {kind: sliding | fixed | bucket, n, per_s, (burst), (starts)}. Sliding: no span shorter than `per_s` holds more than n. Fixed:
windows begin at multiples of `per_s`, or with `starts` = `first`, each at its first request. Bucket: `burst` tokens (default n) at
first, n more every `per_s`, never more than `burst`.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from scenarios.record.history import NS_PER_S, ns_of

Window = Mapping[str, object]


def exceeded(instants: Sequence[int], window: Window, did: str = "allowed") -> str:
    """How these sorted instants exceed the window; empty if they do not."""
    return _EXCEEDED[str(window["kind"])](instants, window, did) if instants else ""


def comes_to_the_limit(instants: Sequence[int], window: Window) -> bool:
    """Whether n of these instants lie within `per_s`."""
    n, per_ns = bounds(window)
    return any(last - first < per_ns for first, last in zip(instants, instants[max(0, n - 1) :], strict=False))


def had_room(allowed: Sequence[int], denied: Sequence[int], window: Window, instant: int) -> bool:
    """Whether the window surely had room at this instant. Edges count as full."""
    n, per_ns = bounds(window)
    if n == 0:
        return False
    match str(window["kind"]):
        case "sliding":
            return _count(allowed, instant - per_ns, instant) < n
        case "fixed":
            begins = _first_begins(allowed, denied, window) if window.get("starts") == "first" else None
            return all(_count(allowed, *span) < n for span in _fixed_spans(begins, per_ns, instant))
        case _:
            return _level(allowed, window, instant) > per_ns


def bounds(window: Window) -> tuple[int, int]:
    """n, and the length in nanoseconds."""
    n, per_s = window["n"], window["per_s"]
    assert isinstance(n, int), "a window's n is a whole number: the policy's reader checks it"
    assert isinstance(per_s, int | float), "a window's per_s is a number: the policy's reader checks it"
    return n, ns_of(per_s)


def _count(instants: Sequence[int], from_ns: int, until_ns: int) -> int:
    return bisect_right(instants, until_ns) - bisect_left(instants, from_ns)


def _fixed_spans(begins: Sequence[int] | None, per_ns: int, instant: int) -> Iterator[tuple[int, int]]:
    """The window of this instant, up to the instant; at an edge the previous window, too."""
    if begins is None:
        begin = instant // per_ns * per_ns
        yield begin, instant
        if instant == begin:
            yield begin - per_ns, instant - 1
        return
    last = bisect_right(begins, instant) - 1
    yield (begins[last] if last >= 0 else instant), instant
    for begin in begins[max(0, last - 1) : last]:
        if instant - begin <= per_ns:
            yield begin, instant


def _first_begins(allowed: Sequence[int], denied: Sequence[int], window: Window) -> list[int]:
    """When each window began: at the first request after the end of the previous one."""
    _, per_ns = bounds(window)
    begins: list[int] = []
    for instant in sorted([*allowed, *denied]):
        if not begins or instant >= begins[-1] + per_ns:
            begins.append(instant)
    return begins


def _sliding(instants: Sequence[int], window: Window, did: str) -> str:
    n, per_ns = bounds(window)
    for first, last in zip(instants, instants[n:], strict=False):
        if last - first < per_ns:
            return f"{n + 1} {did} within {(last - first) / NS_PER_S:.3g} s"
    return ""


def _fixed(instants: Sequence[int], window: Window, did: str) -> str:
    n, per_ns = bounds(window)
    if window.get("starts") == "first":
        begins = _first_begins(instants, (), window)
        counts = [(_count(instants, begin, begin + per_ns - 1), begin) for begin in begins]
    else:
        number, most = Counter(instant // per_ns for instant in instants).most_common(1)[0]
        counts = [(most, number * per_ns)]
    most, begin = max(counts)
    return f"{most} {did} in the window from {begin / NS_PER_S:g} s" if most > n else ""


def _bucket(instants: Sequence[int], window: Window, did: str) -> str:
    n, per_ns = bounds(window)
    level = full = _full(window)
    before = instants[0]
    for instant in instants:
        level = min(full, level + (instant - before) * n)
        before = instant
        if level < per_ns:
            return f"{did} at {instant / NS_PER_S:.3g} s with an empty bucket"
        level -= per_ns
    return ""


def _level(allowed: Sequence[int], window: Window, instant: int) -> int:
    """The level of the bucket at this instant, in integer fractions of a token, to avoid rounding."""
    n, per_ns = bounds(window)
    level = full = _full(window)
    before = allowed[0] if allowed else instant
    for taken in allowed[: bisect_right(allowed, instant)]:
        level = min(full, level + (taken - before) * n)
        before = taken
        level = max(0, level - per_ns)
    return min(full, level + max(0, instant - before) * n)


def _full(window: Window) -> int:
    n, per_ns = bounds(window)
    burst = window.get("burst")
    return (int(burst) if isinstance(burst, int | float) else n) * per_ns


_EXCEEDED: Mapping[str, Callable[[Sequence[int], Window, str], str]] = {
    "sliding": _sliding,
    "fixed": _fixed,
    "bucket": _bucket,
}
