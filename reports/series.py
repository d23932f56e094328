"""From a history to the lines and dots of its charts: counted per interval, capped, so that a big run opens fast."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scenarios.record.history import NS_PER_S, Event, History

INTERVALS_MAX = 80
DOTS_MAX = 2000
INTERVAL_STEPS_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0)
FINAL_STATES = frozenset({"SUCCEEDED", "FAILED", "DEAD", "CANCELLED", "EXPIRED"})
_ENDINGS = frozenset({"attempt.ok", "dead", "cancel.ok"})
_EXCUSES = frozenset({"dead", "cancel.ok"})
_COUNTED = {
    "submit.invoke": "sent",
    "submit.ok": "acknowledged",
    "submit.fail": "not_acknowledged",
    "submit.info": "not_acknowledged",
    "effect": "effects",
    "effect.rejected": "refused",
    "attempt.ok": "completed",
    "attempt.fail": "failed",
}


class Dot(NamedTuple):
    """One task's way through: when it was submitted and how long after that its first effect was accepted."""

    at_s: float
    latency_s: float
    task: str


@dataclass(frozen=True, slots=True)
class Latency:
    """From submission to the first accepted effect. `dots` is empty where there were more than `DOTS_MAX`; percentiles stand in.

    `median_s`, `p95_s`, `worst_s` are one value an interval (None: nothing was submitted in it that had an effect).
    `never` counts the acknowledged tasks without any effect that are neither dead, failed, cancelled nor expired; `never_s` are
    the times they were submitted at, at most `DOTS_MAX` of them.
    """

    measured: int
    median_of_all_s: float | None
    p95_of_all_s: float | None
    worst_of_all_s: float | None
    dots: tuple[Dot, ...]
    median_s: tuple[float | None, ...]
    p95_s: tuple[float | None, ...]
    worst_s: tuple[float | None, ...]
    never: int
    never_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """Everything the charts show. Rates are per second, one value an interval; `open_tasks` is counted at each of `edges_s`.

    `unended` are the acknowledged tasks whose end nobody recorded, in the order of their submission.
    """

    interval_s: float
    edges_s: tuple[float, ...]
    rates: dict[str, tuple[float, ...]]
    open_tasks: tuple[int, ...]
    open_max: int
    unended: tuple[str, ...]
    latency: Latency


@dataclass(slots=True)
class _Passage:
    """What was seen of one task, in ns; filled while the history is read once."""

    sent_ns: int | None = None
    acknowledged_ns: int | None = None
    effect_ns: int | None = None
    ended_ns: int | None = None
    excused: bool = False  # dead, failed, cancelled, expired: no effect is owed


def series_of(history: History, end_ns: int, *, dots_max: int = DOTS_MAX) -> Series:
    """The series of a run that ended at `end_ns`."""
    interval_s = interval_for(end_ns / NS_PER_S)
    intervals = max(1, -(-end_ns // round(interval_s * NS_PER_S)))
    edges_s = tuple(round(i * interval_s, 3) for i in range(intervals + 1))
    passages = _passages(history)
    open_tasks, open_max = _open_tasks(passages.values(), edges_s)
    return Series(
        interval_s=interval_s,
        edges_s=edges_s,
        rates=_rates(history.events, interval_s, intervals),
        open_tasks=open_tasks,
        open_max=open_max,
        unended=tuple(task for task, p in passages.items() if p.acknowledged_ns is not None and p.ended_ns is None),
        latency=_latency(passages, interval_s, intervals, dots_max),
    )


def interval_for(length_s: float) -> float:
    """The shortest round interval that cuts `length_s` into at most `INTERVALS_MAX` pieces."""
    for step_s in INTERVAL_STEPS_S:
        if length_s <= step_s * INTERVALS_MAX:
            return step_s
    return float(-(-length_s // (INTERVALS_MAX * 3600)) * 3600)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the (sorted, not empty) values do not exceed: nearest rank, nothing invented."""
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]


def _rates(events: Iterable[Event], interval_s: float, intervals: int) -> dict[str, tuple[float, ...]]:
    counts = {name: [0] * intervals for name in dict.fromkeys(_COUNTED.values())}
    interval_ns = round(interval_s * NS_PER_S)
    for event in events:
        name = _COUNTED.get(event.event)
        if name is not None:
            counts[name][min(max(0, (event.t_ns or 0) // interval_ns), intervals - 1)] += 1
    return {name: tuple(round(n / interval_s, 3) for n in ns) for name, ns in counts.items()}


def _passages(history: History) -> dict[str, _Passage]:
    """First submission, acknowledgement, effect and end of every task. Where no attempt's end is recorded, an effect is the end."""
    passages: dict[str, _Passage] = {}
    attempts_end = any(event.event == "attempt.ok" for event in history.events)
    for event in history.events:
        if event.task is None:
            continue
        passage = passages.get(event.task)
        if passage is None:
            passage = passages[event.task] = _Passage()
        name, t_ns = event.event, event.t_ns or 0
        if name == "submit.invoke" and passage.sent_ns is None:
            passage.sent_ns = t_ns
        elif name == "submit.ok" and passage.acknowledged_ns is None:
            passage.acknowledged_ns = t_ns
        elif name == "effect" and passage.effect_ns is None:
            passage.effect_ns = t_ns
        ends = name in _ENDINGS or (name == "effect" and not attempts_end) or event.to in FINAL_STATES
        if ends and passage.ended_ns is None:
            passage.ended_ns = t_ns
        elif name == "redrive":
            passage.ended_ns = None
        if name in _EXCUSES or (event.to in FINAL_STATES and event.to != "SUCCEEDED"):
            passage.excused = True
    _close_by_account(passages, history.final)
    return passages


def _close_by_account(passages: dict[str, _Passage], final: Event | None) -> None:
    """What the system's own account lists as ended has ended by then, also where nobody saw how."""
    if final is None:
        return
    for listed, excused in ((final.done, False), (final.dead, True), (final.cancelled, True), (final.expired, True)):
        for task in listed or ():
            passage = passages.get(task)
            if passage is not None:
                passage.ended_ns = final.t_ns if passage.ended_ns is None else passage.ended_ns
                passage.excused = passage.excused or excused


def _open_tasks(passages: Iterable[_Passage], edges_s: Sequence[float]) -> tuple[tuple[int, ...], int]:
    """(acknowledged tasks that had not ended at each edge, the most there were at any moment)."""
    changes: list[tuple[int, int]] = []
    for passage in passages:
        if passage.acknowledged_ns is None:
            continue
        changes.append((passage.acknowledged_ns, +1))
        if passage.ended_ns is not None:
            changes.append((max(passage.ended_ns, passage.acknowledged_ns), -1))
    changes.sort()
    at_edges: list[int] = []
    now = most = 0
    position = 0
    for edge_s in edges_s:
        edge_ns = edge_s * NS_PER_S
        while position < len(changes) and changes[position][0] <= edge_ns:
            now += changes[position][1]
            most = max(most, now)
            position += 1
        at_edges.append(now)
    return tuple(at_edges), most


def _dots(passages: dict[str, _Passage]) -> tuple[list[Dot], list[float]]:
    """The latency of every task that had an effect, and when each was submitted that was owed one; both by time."""
    dots: list[Dot] = []
    never_s: list[float] = []
    for task, passage in passages.items():
        since_ns = passage.sent_ns if passage.sent_ns is not None else passage.acknowledged_ns
        if since_ns is None:
            continue
        at_s = round(since_ns / NS_PER_S, 3)
        if passage.effect_ns is not None:
            dots.append(Dot(at_s, max(0.0, round((passage.effect_ns - since_ns) / NS_PER_S, 4)), task))
        elif passage.acknowledged_ns is not None and not passage.excused:
            never_s.append(at_s)
    return sorted(dots), sorted(never_s)


def _latency(passages: dict[str, _Passage], interval_s: float, intervals: int, dots_max: int) -> Latency:
    dots, never_s = _dots(passages)
    within: list[list[float]] = [[] for _ in range(intervals)]
    for dot in dots:
        within[min(max(0, int(dot.at_s // interval_s)), intervals - 1)].append(dot.latency_s)
    for values in within:
        values.sort()
    everything = sorted(dot.latency_s for dot in dots)
    return Latency(
        measured=len(dots),
        median_of_all_s=_at(everything, 0.5),
        p95_of_all_s=_at(everything, 0.95),
        worst_of_all_s=_at(everything, 1.0),
        dots=tuple(dots) if len(dots) <= dots_max else (),
        median_s=tuple(_at(values, 0.5) for values in within),
        p95_s=tuple(_at(values, 0.95) for values in within),
        worst_s=tuple(_at(values, 1.0) for values in within),
        never=len(never_s),
        never_s=tuple(never_s[:dots_max]),
    )


def _at(ordered: Sequence[float], share: float) -> float | None:
    return percentile(ordered, share) if ordered else None
