"""Runs as a table in Markdown, for the summary of a CI job or a comment."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tasklab.presentation.terminal import harmless

if TYPE_CHECKING:
    from reports.build import Section

MARKS = re.compile(r"([\\`*_\[\]<>|~&@#])")
"""What Markdown, or a page of GitHub, gives a meaning."""


def table_of_runs(sections: "Sequence[Section]") -> str:
    """A row for each run: scenario, system, seed, verdict and the sentence that says why; of the texts nothing is marked up."""
    lines = ["| scenario | system | seed | verdict | why |", "| --- | --- | --- | --- | --- |"]
    for section in sections:
        facts = section.run.facts
        ruling = str(section.overall.ruling)
        cells = [_plain(facts.scenario), _plain(facts.system), str(facts.seed)]
        cells += [ruling if ruling == "held" else f"**{ruling}**", _plain(section.overall.sentence)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _plain(text: str) -> str:
    return MARKS.sub(r"\\\1", harmless(text)).replace("\n", " ")
