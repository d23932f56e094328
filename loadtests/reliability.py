"""The rows of the tab «Reliability» on Locust's page: the lab's current figures, each with its meaning. Pure."""

from collections.abc import Mapping, Sequence

from scenarios.record.run_facts import Live

TAB_KEY = "reliability"
TAB = {"title": "Reliability", "key": TAB_KEY}
TABLE = {
    "key": TAB_KEY,
    "structure": [
        {"key": "figure", "title": "So far"},
        {"key": "now", "title": "Now"},
        {"key": "meaning", "title": "How to read it"},
    ],
}
UNKNOWN = "–"
NO_FIGURES = "The lab has not written any figures yet."

Row = Mapping[str, str]


def rows(live: Live | None, now_ns: int) -> Sequence[Row]:
    """One row per figure, the most important first. `now_ns`: the time of the run's clock."""
    figures = [("Waiting", None, NO_FIGURES)] if live is None else _figures(live, now_ns)
    # Locust sorts by a field called `name`; it is in no column, so that this order stays.
    return [
        {"name": f"{number:02d}", "figure": figure, "now": UNKNOWN if now is None else str(now), "meaning": meaning}
        for number, (figure, now, meaning) in enumerate(figures, start=1)
    ]


def _figures(live: Live, now_ns: int) -> list[tuple[str, int | str | None, str]]:
    lost, twice = live.missing, live.duplicates
    return [
        ("Submitted", f"{live.submitted} of {live.planned}", "Sent, with any outcome."),
        ("Done", live.done, "Listed as done by the system."),
        ("Losses so far", lost, _alarm(lost, "Acknowledged, but in no list of the system. Expected: 0.")),
        ("Duplicates", twice, _alarm(twice, "Accepted effects beyond one per task and step. Expected: 0.")),
        ("Dead letters", live.dead, "Listed as dead by the system."),
        ("Faults", _faults(live), "Faults that the lab injects."),
        ("Figures", "final" if live.over else "so far", _age(live, now_ns)),
        ("Acknowledged", live.acknowledged, "Confirmed by the system: such a task must not be lost."),
        ("Pending", live.pending, "Listed as pending by the system: waiting or running."),
        ("Refused", live.refused, "Surely not accepted: refused, or no connection."),
        ("Unknown", live.unknown, "No answer, or an ambiguous one: the task may have been accepted."),
        ("Effects", live.effects, "Accepted by the outside resource, which belongs to the lab."),
        (
            "Repeated attempts",
            live.repeats,
            "Attempts beyond the first of a task; harmless if no effect is repeated.",
        ),
    ]


def _alarm(count: int | None, meaning: str) -> str:
    return f"⚠ {meaning}" if count else meaning


def _faults(live: Live) -> str:
    return ", ".join(f"{fault.fault} on {fault.target}: {fault.stage}" for fault in live.faults) or "none planned"


def _age(live: Live, now_ns: int) -> str:
    if live.over:
        return "The load is over and these figures are final; the report has the verdicts."
    age_s = max(0.0, (now_ns - live.t_ns) / 1e9)
    return f"{age_s:.1f} s old; reading them took {live.read_s:.2f} s."
