"""The rows of the tab «Reliability» on Locust's page: the lab's figures so far, and how each of them is to be read. Pure."""

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
    """One row a figure, the most urgent first. `now_ns`: on the run's clock, as the figures are."""
    figures = [("Waiting", None, NO_FIGURES)] if live is None else _figures(live, now_ns)
    # Locust sorts by a field called `name`; it is in no column, so that this order stays.
    return [
        {"name": f"{number:02d}", "figure": figure, "now": UNKNOWN if now is None else str(now), "meaning": meaning}
        for number, (figure, now, meaning) in enumerate(figures, start=1)
    ]


def _figures(live: Live, now_ns: int) -> list[tuple[str, int | str | None, str]]:
    lost, twice = live.missing, live.duplicates
    return [
        ("Submitted", f"{live.submitted} of {live.planned}", "Sent, whatever became of it."),
        ("Done", live.done, "In the system's own account."),
        ("Losses so far", lost, _alarm(lost, "Acknowledged, and in no list of the account; right is none.")),
        ("Duplicates", twice, _alarm(twice, "Effects accepted beyond one a task and step; right is none.")),
        ("Dead letters", live.dead, "What the system gave up, in its own account."),
        ("Faults", _faults(live), "What the lab does to the system's world."),
        ("Figures", "final" if live.over else "so far", _age(live, now_ns)),
        ("Acknowledged", live.acknowledged, "The system said that it has it: from then on it must not be lost."),
        ("Pending", live.pending, "Waiting or running, in the system's own account."),
        ("Refused", live.refused, "Surely not accepted: turned away, or nobody listened."),
        ("Unknown", live.unknown, "No answer, or one that proves nothing: it may have been accepted."),
        ("Effects", live.effects, "Accepted by the outside resource, which is the lab's."),
        (
            "Repeated attempts",
            live.repeats,
            "Attempts beyond the first of a task; no harm while effects do not repeat.",
        ),
    ]


def _alarm(count: int | None, meaning: str) -> str:
    return f"⚠ {meaning}" if count else meaning


def _faults(live: Live) -> str:
    return ", ".join(f"{fault.fault} on {fault.target}: {fault.stage}" for fault in live.faults) or "none planned"


def _age(live: Live, now_ns: int) -> str:
    if live.over:
        return (
            "The load is over and everything has come to its end, or never will; the judges' verdict is in the report."
        )
    age_s = max(0.0, (now_ns - live.t_ns) / 1e9)
    return f"{age_s:.1f} s old; reading them took {live.read_s:.2f} s."
