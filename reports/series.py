"""The lines and dots of the charts of a history: counted per interval, and limited in number, so that the page of a big run opens fast."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reports.task_times import TaskTimes, times_of
from scenarios.record.history import NS_PER_S, Event, History

INTERVALS_MAX = 80
DOTS_MAX = 2000
INTERVAL_STEPS_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0)
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
    """One task: when it was submitted, and how long after that its first effect was accepted."""

    at_s: float
    latency_s: float
    task: str


@dataclass(frozen=True, slots=True)
class Latency:
    """From submission to the first accepted effect. `dots` is empty if there are more than `DOTS_MAX`; the percentiles replace them.

    `median_s`, `p95_s`, `worst_s`: one value per interval (None: no task that was submitted in it had an effect). `never`: the number of
    acknowledged tasks without any effect that are neither dead, failed, cancelled nor expired; `never_s`: when these were submitted, at
    most `DOTS_MAX` values.
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
    """The content of all charts. Rates are per second, one value per interval; `open_tasks` is counted at each of `edges_s`.

    `unended`: the acknowledged tasks without a recorded end, in the order of their submission.
    """

    interval_s: float
    edges_s: tuple[float, ...]
    rates: dict[str, tuple[float, ...]]
    open_tasks: tuple[int, ...]
    open_max: int
    unended: tuple[str, ...]
    latency: Latency


def series_of(history: History, end_ns: int, *, dots_max: int = DOTS_MAX) -> Series:
    """The series of a run that ended at `end_ns`."""
    interval_s = interval_for(end_ns / NS_PER_S)
    intervals = max(1, -(-end_ns // round(interval_s * NS_PER_S)))
    edges_s = tuple(round(i * interval_s, 3) for i in range(intervals + 1))
    tasks = times_of(history)
    open_tasks, open_max = _open_tasks(tasks, edges_s)
    return Series(
        interval_s=interval_s,
        edges_s=edges_s,
        rates=_rates(history.events, interval_s, intervals),
        open_tasks=open_tasks,
        open_max=open_max,
        unended=tuple(one.task for one in tasks if one.acknowledged_ns is not None and one.ended_ns is None),
        latency=_latency(tasks, interval_s, intervals, dots_max),
    )


def interval_for(length_s: float) -> float:
    """The shortest round interval that divides `length_s` into at most `INTERVALS_MAX` parts."""
    for step_s in INTERVAL_STEPS_S:
        if length_s <= step_s * INTERVALS_MAX:
            return step_s
    return float(-(-length_s // (INTERVALS_MAX * 3600)) * 3600)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the (sorted, not empty) values do not exceed (nearest rank, no interpolation)."""
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]


def _rates(events: Iterable[Event], interval_s: float, intervals: int) -> dict[str, tuple[float, ...]]:
    counts = {name: [0] * intervals for name in dict.fromkeys(_COUNTED.values())}
    interval_ns = round(interval_s * NS_PER_S)
    for event in events:
        name = _COUNTED.get(event.event)
        if name is not None:
            counts[name][min(max(0, (event.t_ns or 0) // interval_ns), intervals - 1)] += 1
    return {name: tuple(round(n / interval_s, 3) for n in ns) for name, ns in counts.items()}


def _open_tasks(tasks: Iterable[TaskTimes], edges_s: Sequence[float]) -> tuple[tuple[int, ...], int]:
    """The acknowledged tasks that had not ended at each edge, and the largest number of them at any instant."""
    changes: list[tuple[int, int]] = []
    for task in tasks:
        if task.acknowledged_ns is None:
            continue
        changes.append((task.acknowledged_ns, +1))
        if task.ended_ns is not None:
            changes.append((max(task.ended_ns, task.acknowledged_ns), -1))
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


def _dots(tasks: Iterable[TaskTimes]) -> tuple[list[Dot], list[float]]:
    """The latency of every task that had an effect, and the time of submission of every task that lacks one; both by time."""
    dots: list[Dot] = []
    never_s: list[float] = []
    for task in tasks:
        since_ns = task.submitted_ns if task.submitted_ns is not None else task.acknowledged_ns
        if since_ns is None:
            continue
        at_s = round(since_ns / NS_PER_S, 3)
        if task.effect_ns is not None:
            dots.append(Dot(at_s, max(0.0, round((task.effect_ns - since_ns) / NS_PER_S, 4)), task.task))
        elif task.lacks_effect:
            never_s.append(at_s)
    return sorted(dots), sorted(never_s)


def _latency(tasks: Iterable[TaskTimes], interval_s: float, intervals: int, dots_max: int) -> Latency:
    dots, never_s = _dots(tasks)
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
