"""What a load test measured, from its histories: was the load the one that was planned, how long did answers and effects take."""

from collections.abc import Sequence
from pathlib import Path

from loadtests.arrivals import LoadPlan
from loadtests.handing_over import HISTORY_FILE, Line, decode_line
from scenarios.record.history import NS_PER_S
from scenarios.record.run_facts import LoadFigures, Percentiles

OUTSIDE_FILE = "history.outside.jsonl"
ON_TIME_S = 0.1
"""How late a submission may leave the generator and still count as sent when it was planned."""
ON_TIME_SHARE_MIN = 0.95
"""Of the planned submissions; with less, the load was not the one that was asked for."""


def figures_of(directory: Path, plan: LoadPlan) -> LoadFigures:
    """The figures of a run directory; times of a run that was cut short are those of what there is."""
    invoked: dict[str, Line] = {}
    ended: dict[str, Line] = {}
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
    """Whether the load was the one that was asked for."""
    return figures.on_time >= ON_TIME_SHARE_MIN * figures.planned


def kept_up(figures: LoadFigures) -> bool:
    """Whether no more was open when the load ended than comes in within a second."""
    return figures.backlog <= figures.planned_per_s


def lag_s(line: Line) -> float:
    """How late a submission was sent."""
    return (line.t_ns - line.planned_ns) / NS_PER_S


def is_on_time(line: Line) -> bool:
    """Whether a submission was sent when it was planned."""
    return lag_s(line) <= ON_TIME_S


def percentiles(values: Sequence[float]) -> Percentiles | None:
    """Of some values in any order; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    ranks = (_rank(len(ordered), per_cent) for per_cent in (50, 95, 99, 100))
    return Percentiles(*(round(ordered[rank], 4) for rank in ranks))


def _rank(count: int, per_cent: int) -> int:
    """The index of the smallest value that at least so many per cent do not exceed."""
    return max(0, -(-per_cent * count // 100) - 1)


def _since(invoked: Line, t_ns: int) -> float:
    return (t_ns - invoked.planned_ns) / NS_PER_S


def _rate(sent_ns: Sequence[int], plan: LoadPlan) -> float:
    """Submissions a second as they really left: over the time from the first to the last, and one interval more."""
    if not sent_ns:
        return 0.0
    length_s = (max(sent_ns) - min(sent_ns)) / NS_PER_S + 1 / plan.rate_per_s
    return round(len(sent_ns) / length_s, 2)


def _lines(file: Path) -> list[Line]:
    """Those about tasks; a last line that was torn by a kill is passed over, as the judges do."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return []
    whole = content[: content.rfind(b"\n") + 1]
    return [line for line in map(decode_line, whole.splitlines()) if line.task]
