"""Run directories → one self-contained HTML file: the only module of this package that others call."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from reports.account import IDS_MAX, Balance, balance_of
from reports.charts import chart_data, dots_allowed
from reports.embedding import HERE, asset, content_security_policy, printable, script_json
from reports.journeys import JOURNEYS_MAX, LANES, Journey, journeys_of
from reports.judgement import Ruled
from reports.matrix import Matrix, matrix_of
from reports.reading import Run, find_runs, read_run
from reports.ruling import Overall, overall
from reports.series import Series, series_of
from reports.story import Story, story_of
from reports.timeline import Timeline, timeline_of
from reports.wording import count, duration, instant, listing, number
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.verdict import Ruling
from scenarios.stored.rundir import write_whole


@dataclass(frozen=True, slots=True)
class Promise:
    """A row of the verdict table; `group` is the ruling, with what was held without being exercised apart.

    `at_stake`: the scenario is made to break this promise in particular.
    """

    name: str
    sentence: str
    group: str
    ruled: Ruled
    bound: str
    at_stake: bool


@dataclass(frozen=True, slots=True)
class Section:
    """All that the page shows of one run. `links` leads from a task to its journey's place in the page."""

    anchor: str
    run: Run
    timeline: Timeline
    overall: Overall
    promises: tuple[Promise, ...]
    not_claimed: tuple[Promise, ...]
    balance: Balance | None
    series: Series
    journeys: tuple[Journey, ...]
    story: Story | None
    links: Mapping[str, str]
    doubts: tuple[str, ...]


def write_report(run_directories: Sequence[Path], out: Path) -> Path:
    """Write the report of some runs to `out`, whole or not at all; returns `out`.

    Raises:
        NotARun: a path holds neither a run nor runs.
    """
    write_whole(out, build_report(run_directories).encode("utf-8", errors="replace"))
    return out


def build_report(run_directories: Sequence[Path]) -> str:
    """One HTML page about the given runs (directories of runs stand for the runs in them).

    Raises:
        NotARun: a path holds neither a run nor runs.
    """
    return render(sections_of(run_directories))


def sections_of(run_directories: Sequence[Path]) -> tuple[Section, ...]:
    """What the page will show of each run, in the order given.

    Raises:
        NotARun: a path holds neither a run nor runs.
    """
    paths = find_runs(run_directories)
    return tuple(
        _section(f"run{index}", read_run(path), dots_allowed(len(paths))) for index, path in enumerate(paths, start=1)
    )


def render(sections: Sequence[Section]) -> str:
    """The page for some sections: a matrix on top where there are several."""
    script = asset("vendor/uplot/uPlot.iife.min.js") + "\n" + asset("assets/report.js")
    style = asset("vendor/uplot/uPlot.min.css") + asset("assets/report.css")
    matrix: Matrix | None = matrix_of([(s.anchor, s.run, s.overall) for s in sections]) if len(sections) > 1 else None
    return (
        _templates()
        .get_template("report.html")
        .render(
            sections=sections,
            matrix=matrix,
            title=_title(sections),
            policy=content_security_policy(script, style),
            script=script,
            style=style,
            chart_licence=asset("vendor/uplot/LICENSE"),
            charts=script_json([chart_data(s.anchor, s.series, s.timeline) for s in sections]),
        )
    )


def _title(sections: Sequence[Section]) -> str:
    if len(sections) != 1:
        return f"{count(len(sections), 'run')} · tasklab"
    facts = sections[0].run.facts
    return f"{sections[0].overall.ruling}: {facts.system}, {facts.scenario} · tasklab"


@cache
def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        finalize=printable,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(duration=duration, instant=instant, number=number, count=count, listing=listing)
    templates.globals.update(lanes=LANES, ids_max=IDS_MAX, journeys_max=JOURNEYS_MAX)
    return templates


def _section(anchor: str, run: Run, dots_max: int) -> Section:
    timeline = timeline_of(run.facts, run.recorded.history)
    judgement = run.judgement
    journeys = journeys_of(judgement, timeline) if judgement else ()
    bounds = judgement.bounds if judgement else {}
    return Section(
        anchor=anchor,
        run=run,
        timeline=timeline,
        overall=overall(run, timeline),
        promises=_promises(judgement.verdicts, bounds, run.facts.at_stake) if judgement else (),
        not_claimed=_promises(judgement.not_claimed, bounds, run.facts.at_stake) if judgement else (),
        balance=balance_of(judgement.account) if judgement and judgement.account else None,
        series=series_of(run.recorded.history, timeline.end_ns, dots_max=dots_max),
        journeys=journeys,
        story=story_of(run.facts.steps),
        links={journey.task: f"{anchor}-journey{place}" for place, journey in enumerate(journeys, start=1)},
        doubts=_doubts(run),
    )


_SENTENCES = {str(guarantee): guarantee.sentence for guarantee in Guarantee}
_GROUPS = ("broken", "unknown", "held", "held (not exercised)")


def _promises(
    verdicts: Mapping[str, Ruled], bounds: Mapping[str, str], at_stake: Collection[str]
) -> tuple[Promise, ...]:
    """The rows of a verdict table: bad news first, and what the scenario is about before the rest."""
    rows = [
        Promise(name, _SENTENCES.get(name, ""), _group_of(ruled), ruled, bounds.get(name, ""), name in at_stake)
        for name, ruled in verdicts.items()
    ]
    return tuple(sorted(rows, key=lambda row: (_GROUPS.index(row.group), not row.at_stake)))


def _group_of(ruled: Ruled) -> str:
    return "held (not exercised)" if ruled.verdict is Ruling.HELD and not ruled.exercised else str(ruled.verdict)


def _doubts(run: Run) -> tuple[str, ...]:
    """Everything that went wrong with the lab's own work; what another one already contains is left out."""
    doubts: list[str] = []
    for doubt in _all_doubts(run):
        if not any(doubt in said for said in doubts):
            doubts.append(doubt)
    told = " ".join(doubts)
    return (
        *doubts,
        *(f"{s.fault} on {s.target}: {s.problem}" for s in run.facts.strikes if s.problem and s.problem not in told),
    )


def _all_doubts(run: Run) -> Iterable[str]:
    yield from run.facts.problems
    yield from run.unreadable
    if run.judgement is not None:
        yield from run.judgement.problems
        yield from (f"malformed history: {where}" for where in run.judgement.malformed)
    yield from (f"malformed history: {where}" for where in run.recorded.malformed)
