"""The input of the page's script: series, faults and phases as plain JSON, with few digits and few points."""

import math

from reports.embedding import printable
from reports.series import DOTS_MAX, Latency, Series
from reports.timeline import RunTimeline
from scenarios.record.history import NS_PER_S

DOTS_IN_ALL = 40_000
FLOOR_S = 0.001  # the latency axis is logarithmic: shorter latencies are drawn here


def dots_allowed(runs: int) -> int:
    """Maximum number of dots for each of `runs` runs in one file."""
    return min(DOTS_MAX, DOTS_IN_ALL // max(1, runs))


def chart_data(anchor: str, series: Series, timeline: RunTimeline) -> dict[str, object]:
    """The input for one run, all times in seconds; `anchor` names the run's section."""
    return {
        "run": anchor,
        "interval": series.interval_s,
        "edges": series.edges_s,
        "rates": series.rates,
        "open": series.open_tasks,
        "phases": [{"name": printable(phase.name), "at": _seconds(phase.begun_ns)} for phase in timeline.phases],
        "faults": [
            {
                "letter": letter,
                "label": printable(f"{fault.fault} {fault.target}"),
                "begun": _seconds(fault.begun_ns),
                "bit": _seconds(fault.bit_ns),
                "ended": _seconds(fault.ended_ns),
                "healed": _seconds(fault.healed_ns),
            }
            for letter, fault in timeline.faults
        ],
        "latency": _latency(series.latency),
    }


def _seconds(t_ns: int | None) -> float | None:
    return None if t_ns is None else round(t_ns / NS_PER_S, 3)


def _latency(latency: Latency) -> dict[str, object]:
    return {
        "range": _decades(latency.worst_of_all_s),
        "at": [dot.at_s for dot in latency.dots],
        "took": [dot.latency_s for dot in latency.dots],
        "task": [printable(dot.task) for dot in latency.dots],
        "median": latency.median_s,
        "p95": latency.p95_s,
        "worst": latency.worst_s,
        "never": latency.never_s,
    }


def _decades(worst_s: float | None) -> tuple[float, float]:
    """The ends of the latency axis: from the floor to the power of ten above the worst latency, at least two decades."""
    highest = math.ceil(math.log10(max(worst_s or 0.0, 0.05)) + 0.05)
    return FLOOR_S, 10.0**highest
