"""Numbers, durations and lists in readable form."""

from collections.abc import Sequence

from scenarios.record.history import NS_PER_S


def duration(seconds: float) -> str:
    """A length of time with three digits or so: `8 ms`, `3.21 s`, `41.3 s`, `3 min 12 s`."""
    if abs(seconds) < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if abs(seconds) < 9.995:
        return f"{seconds:.2f} s"
    if abs(seconds) < 119.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def instant(t_ns: int | None) -> str:
    """An instant of the run's clock, in seconds with three decimals; empty if there was none."""
    return "" if t_ns is None else f"{t_ns / NS_PER_S:.3f} s"


def offset(t_ns: int, origin_ns: int) -> str:
    """Seconds after (or before) an origin, signed: `+0.032 s`."""
    return f"{(t_ns - origin_ns) / NS_PER_S:+.3f} s"


def number(value: object) -> str:
    """A figure with separated thousands, and at most three decimals."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}"
    return f"{value:,.3f}".rstrip("0")


def count(n: int, noun: str, plural: str = "") -> str:
    """`1 task`, `1,204 tasks`; `plural`: if it is not the noun with an s."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {plural or noun + 's'}"


def listing(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
