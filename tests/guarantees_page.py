"""Writes docs/guarantees.md: for each promise its sentence, its rule, the planted kinds and the judged cases that prove its checker.

Also writes the table of states and transitions into the pages for authors of systems. `python -m tests.guarantees_page` writes all of it;
tests compare the files with the code.
"""

import json
from collections import defaultdict
from pathlib import Path

from scenarios.judging.checkers import CHECKERS
from scenarios.judging.checkers.legal_transitions import STATES, TRANSITIONS
from scenarios.judging.guarantees import Guarantee
from tests.anomalies import AUDITED_KINDS, KINDS
from tests.history_drafts import Draft

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guarantees.md"
LIFE_CYCLE_PAGES = (ROOT / "docs" / "history.md", ROOT / "docs" / "writing_a_system.md")
CASES = tuple(ROOT / "tests" / "cases" / name for name in ("task-histories.json", "public-histories.json"))

HEAD = """\
# Guarantees

Generated from the code by `python -m tests.guarantees_page`; do not edit. For each promise: its sentence, the rule by which its checker
decides (rules 1 to 3, common to all, and the corners are in [history.md](history.md)), the kinds of misbehaviour that are planted in the
tests to prove that this checker finds them (each at least 200 times, into histories in which every promise is held), and the verdicts
on the judged cases.
"""


BEGIN = "<!-- states and transitions: generated from scenarios/judging/checkers/legal_transitions.py by python -m tests.guarantees_page -->"
END = "<!-- end of states and transitions -->"


def life_cycle() -> str:
    """The table of transitions, between its marks."""
    rows = [
        f"| {f'`{state}`' if state else '(not created)'} | {_listed(TRANSITIONS.get(state, frozenset()))} |"
        for state in (None, *STATES)
    ]
    return "\n".join([BEGIN, "| `from` | `to` |", "| --- | --- |", *rows, END])


def _listed(states: frozenset[str]) -> str:
    return ", ".join(f"`{state}`" for state in STATES if state in states) or "nothing: it is final"


def with_life_cycle(text: str) -> str:
    """A page with its table as the code has it."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, "the page has no mark at the begin of the table"
    assert end, "the page has no mark at the end of the table"
    return before + life_cycle() + after


def page() -> str:
    """The whole file."""
    kinds = defaultdict(list)
    for plant in (*KINDS, *AUDITED_KINDS):
        for guarantee in plant(Draft(audited=True), 0):
            kinds[guarantee].append(plant)
    cases = defaultdict(lambda: defaultdict(list))
    for case in (case for file in CASES for case in json.loads(file.read_text())):
        for name, expected in case["expect"].items():
            cases[name][expected["verdict"]].append(case["id"])
    return "\n".join(
        [HEAD, *(_section(guarantee, kinds[guarantee], cases[guarantee.value]) for guarantee in Guarantee)]
    )


def _section(guarantee: Guarantee, plants: list, cases: dict[str, list[str]]) -> str:
    rule = " ".join((CHECKERS[guarantee].__globals__["__doc__"] or "").split())
    planted = [f"- `{plant.__name__}`: {plant.__doc__.splitlines()[0]}" for plant in plants]
    judged = [f"- {verdict}: {', '.join(f'`{name}`' for name in cases[verdict])}" for verdict in sorted(cases)]
    return "\n".join(
        [
            f"## `{guarantee.value}`",
            "",
            f"**{guarantee.sentence}**",
            "",
            rule,
            "",
            "Planted:",
            "",
            *planted,
            "",
            *(["Judged cases:", "", *judged, ""] if judged else []),
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page())
    for file in LIFE_CYCLE_PAGES:
        file.write_text(with_life_cycle(file.read_text()))
