"""The figures of a load test, from its histories: the load as it was sent, and the times until answers and effects."""

from collections.abc import Sequence
from pathlib import Path

from loadtests.arrivals import LoadPlan
from loadtests.exchange_files import HISTORY_FILE, SubmissionLine, decode_line
from scenarios.record.history import NS_PER_S
from scenarios.record.run_facts import LoadFigures, Percentiles

OUTSIDE_FILE = "history.outside.jsonl"
ON_TIME_S = 0.1
"""Maximum delay of a submission that still counts as sent on time."""
ON_TIME_SHARE_MIN = 0.95
"""Minimum share of the planned submissions that must be sent on time; below it, the load was not the planned one."""


def figures_of(directory: Path, plan: LoadPlan) -> LoadFigures:
    """The figures of a run directory; for an interrupted run, the figures of the events that exist."""
    invoked: dict[str, SubmissionLine] = {}
    ended: dict[str, SubmissionLine] = {}
    for line in _lines(directory / HISTORY_FILE):
        (invoked if line.event == "submit.invoke" else ended)[line.task] = line
    effect_ns: dict[str, int] = {}
    for line in _lines(directory / OUTSIDE_FILE):
        if line.event == "effect" and line.task in invoked:
            effect_ns.setdefault(line.task, line.t_ns)
    by_end = {kind: {task for task, line in ended.items() if line.event == f"submit.{kind}"} for kind in ("ok", "fail")}
    end_ns = min((line.planned_ns for line in invoked.values()), default=0) + round(plan.duration_s * NS_PER_S)
    maybe_accepted = invoked.keys() - by_end["fail"]
    return LoadFigures(
        planned=plan.tasks,
        sent=len(invoked),
        on_time=sum(is_on_time(line) for line in invoked.values()),
        acknowledged=len(by_end["ok"]),
        refused=len(by_end["fail"]),
        unknown=len(maybe_accepted - by_end["ok"]),
        planned_per_s=plan.rate_per_s,
        offered_per_s=_rate([line.t_ns for line in invoked.values()], plan),
        latest_s=max((lag_s(line) for line in invoked.values()), default=0.0),
        answers=percentiles([_since(invoked[task], line.t_ns) for task, line in ended.items()]),
        effects=percentiles([_since(invoked[task], t_ns) for task, t_ns in effect_ns.items()]),
        without_effect=len(by_end["ok"] - effect_ns.keys()),
        backlog=sum(effect_ns.get(task, end_ns + 1) > end_ns for task in maybe_accepted),
        caught_up_s=round((max(effect_ns.values(), default=end_ns) - end_ns) / NS_PER_S, 3),
    )


def is_as_planned(figures: LoadFigures) -> bool:
    """Whether the load was the planned one."""
    return figures.on_time >= ON_TIME_SHARE_MIN * figures.planned


def kept_up(figures: LoadFigures) -> bool:
    """Whether the open tasks at the end of the load were at most the submissions of one second."""
    return figures.backlog <= figures.planned_per_s


def lag_s(line: SubmissionLine) -> float:
    """Delay of a submission after its due time."""
    return (line.t_ns - line.planned_ns) / NS_PER_S


def is_on_time(line: SubmissionLine) -> bool:
    """Whether a submission was sent at its due time."""
    return lag_s(line) <= ON_TIME_S


def percentiles(values: Sequence[float]) -> Percentiles | None:
    """The percentiles of some values in any order; None if there are no values."""
    if not values:
        return None
    ordered = sorted(values)
    ranks = (_rank(len(ordered), per_cent) for per_cent in (50, 95, 99, 100))
    return Percentiles(*(round(ordered[rank], 4) for rank in ranks))


def _rank(count: int, per_cent: int) -> int:
    """Index of the smallest value that at least `per_cent` of the values do not exceed."""
    return max(0, -(-per_cent * count // 100) - 1)


def _since(invoked: SubmissionLine, t_ns: int) -> float:
    return (t_ns - invoked.planned_ns) / NS_PER_S


def _rate(sent_ns: Sequence[int], plan: LoadPlan) -> float:
    """Submissions per second as sent: over the time from the first to the last, plus one interval."""
    if not sent_ns:
        return 0.0
    length_s = (max(sent_ns) - min(sent_ns)) / NS_PER_S + 1 / plan.rate_per_s
    return round(len(sent_ns) / length_s, 2)


def _lines(file: Path) -> list[SubmissionLine]:
    """The lines about tasks. A last line torn by a kill is ignored, as by the checkers."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return []
    whole = content[: content.rfind(b"\n") + 1]
    return [line for line in map(decode_line, whole.splitlines()) if line.task]
