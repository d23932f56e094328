"""Run directories → one self-contained HTML file: the entry point of this package."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

import jinja2

from reports.account import IDS_MAX, Balance, balance_of
from reports.charts import chart_data, dots_allowed
from reports.client_errors import KINDS_MAX, ClientError, client_errors
from reports.embedding import HERE, asset, content_security_policy, printable, script_json
from reports.journeys import JOURNEYS_MAX, JourneyTable, journeys_of
from reports.matrix import Inapplicable, Matrix, matrix_of
from reports.reading import StoredRun, find_runs, read_run
from reports.ruling import Overall, overall
from reports.series import Series, series_of
from reports.story import StoryTable, story_of
from reports.timeline import RunTimeline, timeline_of
from reports.wording import count, duration, instant, listing, number
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.journey import LANES
from scenarios.judging.judgement_record import VerdictRecord
from scenarios.judging.verdict import Ruling
from scenarios.record.history import NS_PER_S
from scenarios.record.run_facts import RunFacts
from scenarios.stored.open_tasks import OpenTasks
from scenarios.stored.rundir import LOGS, write_whole


@dataclass(frozen=True, slots=True)
class GuaranteeRow:
    """A row of the verdict table. `group`: the ruling, where "held" and "held (not exercised)" are two.

    `at_stake`: the scenario is designed to violate this guarantee. `tested_by`: scenarios that test it, where the run did not.
    `documented`: of a broken guarantee, what the library says of not keeping it.
    """

    name: str
    sentence: str
    group: str
    verdict: VerdictRecord
    bound: str
    at_stake: bool
    tested_by: tuple[str, ...] = ()
    documented: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The content of the page for one run. `links`: by task, the anchor of its journey; `waited_s`: how long the drain took.

    `logs`: by the name of a log, the relative URL that leads to it.
    """

    anchor: str
    run: StoredRun
    timeline: RunTimeline
    overall: Overall
    guarantees: tuple[GuaranteeRow, ...]
    not_claimed: tuple[GuaranteeRow, ...]
    balance: Balance | None
    series: Series
    journeys: tuple[JourneyTable, ...]
    story: StoryTable | None
    links: Mapping[str, str]
    problems: tuple[str, ...]
    client_errors: tuple[ClientError, ...]
    open_tasks: OpenTasks | None
    waited_s: float | None
    logs: Mapping[str, str]


def write_report(run_directories: Sequence[Path], out: Path, *, inapplicable: Sequence[Inapplicable] = ()) -> Path:
    """Write the report of some runs to `out`, atomically; return `out`. `inapplicable`: shown in the matrix of several runs.

    Raises:
        NotARun: a path holds neither a run nor runs.
    """
    page = render(sections_of(run_directories, out.parent), inapplicable)
    write_whole(out, page.encode("utf-8", errors="replace"))
    return out


def build_report(run_directories: Sequence[Path]) -> str:
    """One HTML page about the given runs (a directory of runs stands for the runs in it).

    Raises:
        NotARun: a path holds neither a run nor runs.
    """
    return render(sections_of(run_directories))


def sections_of(run_directories: Sequence[Path], beside: Path | None = None) -> tuple[Section, ...]:
    """The content of the page for each run, in the order given. `beside`: where the page will be; None: it links to no log.

    Raises:
        NotARun: a path holds neither a run nor runs.
    """
    paths = find_runs(run_directories)
    return tuple(
        _section(f"run{index}", read_run(path), dots_allowed(len(paths)), beside)
        for index, path in enumerate(paths, start=1)
    )


def render(sections: Sequence[Section], inapplicable: Sequence[Inapplicable] = ()) -> str:
    """The page for some sections; it begins with a matrix if there are several."""
    script = asset("vendor/uplot/uPlot.iife.min.js") + "\n" + asset("assets/report.js")
    style = asset("vendor/uplot/uPlot.min.css") + asset("assets/report.css")
    matrix: Matrix | None = None
    if len(sections) > 1:
        matrix = matrix_of([(section.anchor, section.run, section.overall) for section in sections], inapplicable)
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
    templates.globals.update(lanes=LANES, ids_max=IDS_MAX, journeys_max=JOURNEYS_MAX, error_kinds_max=KINDS_MAX)
    return templates


def _section(anchor: str, run: StoredRun, dots_max: int, beside: Path | None) -> Section:
    timeline = timeline_of(run.facts, run.recorded.history)
    judgement = run.judgement
    journeys = journeys_of(judgement, timeline) if judgement else ()
    bounds = judgement.bounds if judgement else {}
    return Section(
        anchor=anchor,
        run=run,
        timeline=timeline,
        overall=overall(run, timeline),
        guarantees=_guarantee_rows(judgement.verdicts, bounds, run.facts) if judgement else (),
        not_claimed=_guarantee_rows(judgement.not_claimed, bounds, run.facts) if judgement else (),
        balance=balance_of(judgement.account) if judgement and judgement.account else None,
        series=series_of(run.recorded.history, timeline.end_ns, dots_max=dots_max),
        journeys=journeys,
        story=story_of(run.facts.steps),
        links={journey.task: f"{anchor}-journey{place}" for place, journey in enumerate(journeys, start=1)},
        problems=_problems(run),
        client_errors=client_errors(run.recorded.history.events),
        open_tasks=run.open_tasks,
        waited_s=_waited_s(run.facts.phases_ns),
        logs=_log_links(run, beside),
    )


def _log_links(run: StoredRun, beside: Path | None) -> Mapping[str, str]:
    if beside is None:
        return {}
    logs = os.path.relpath((run.path / LOGS).resolve(), beside.resolve())
    return {name: quote(f"{logs}/{name}") for name in run.logs}


def _waited_s(phases_ns: Mapping[str, int]) -> float | None:
    """How long the lab waited for tasks to end, once nothing disturbed them any more; None: the run did not get that far."""
    if "calm" not in phases_ns or "account" not in phases_ns:
        return None
    return (phases_ns["account"] - phases_ns["calm"]) / NS_PER_S


_SENTENCES = {str(guarantee): guarantee.sentence for guarantee in Guarantee}
_GROUPS = ("broken", "unknown", "held", "held (not exercised)")


def _guarantee_rows(
    verdicts: Mapping[str, VerdictRecord], bounds: Mapping[str, str], facts: RunFacts
) -> tuple[GuaranteeRow, ...]:
    """The rows of a verdict table: broken guarantees first, and in each group those at stake first."""
    rows = [
        GuaranteeRow(
            name,
            _SENTENCES.get(name, ""),
            _group_of(verdict),
            verdict,
            bounds.get(name, ""),
            name in facts.at_stake,
            () if verdict.exercised else tuple(facts.tested_by.get(name, ())),
            facts.documented.get(name, "") if verdict.ruling is Ruling.BROKEN else "",
        )
        for name, verdict in verdicts.items()
    ]
    return tuple(sorted(rows, key=lambda row: (_GROUPS.index(row.group), not row.at_stake)))


def _group_of(verdict: VerdictRecord) -> str:
    return "held (not exercised)" if verdict.ruling is Ruling.HELD and not verdict.exercised else str(verdict.ruling)


def _problems(run: StoredRun) -> tuple[str, ...]:
    """All failures of the lab, without those that an earlier sentence already contains."""
    problems: list[str] = []
    for problem in _all_problems(run):
        if not any(problem in earlier for earlier in problems):
            problems.append(problem)
    listed = " ".join(problems)
    of_faults = (
        f"{f.fault} on {f.target}: {f.problem}" for f in run.facts.strikes if f.problem and f.problem not in listed
    )
    return (*problems, *of_faults)


def _all_problems(run: StoredRun) -> Iterable[str]:
    yield from run.facts.problems
    yield from run.unreadable
    if run.judgement is not None:
        yield from run.judgement.problems
        yield from (f"malformed history: {where}" for where in run.judgement.malformed)
    yield from (f"malformed history: {where}" for where in run.recorded.malformed)
