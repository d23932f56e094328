"""The ruling on a whole run, in one word and one sentence; never better than the evidence."""

from collections.abc import Mapping
from dataclasses import dataclass

from reports.reading import StoredRun
from reports.timeline import RunTimeline
from reports.wording import count, duration, listing
from scenarios.judging.judgement_record import JudgementRecord, VerdictRecord
from scenarios.judging.verdict import Ruling
from scenarios.record.history import NS_PER_S

NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Overall:
    """The ruling on a run, and the first sentence of its report."""

    ruling: Ruling
    sentence: str


def overall(run: StoredRun, timeline: RunTimeline) -> Overall:
    """Broken if a claimed guarantee is; held only if all are, the run finished, and neither lab nor checkers reported a problem."""
    judgement = run.judgement
    if judgement is None:
        return Overall(Ruling.UNKNOWN, _unjudged(run, timeline))
    broken = named(judgement.verdicts, Ruling.BROKEN)
    if broken:
        return Overall(Ruling.BROKEN, _broken(run, broken))
    why_unknown = _why_unknown(run, judgement)
    if why_unknown:
        return Overall(Ruling.UNKNOWN, f"The lab could not tell: {why_unknown}")
    return Overall(Ruling.HELD, _held(run, judgement))


def named(verdicts: Mapping[str, VerdictRecord], ruling: Ruling) -> dict[str, VerdictRecord]:
    """The verdicts of one ruling, in their order."""
    return {name: verdict for name, verdict in verdicts.items() if verdict.ruling is ruling}


def _unjudged(run: StoredRun, timeline: RunTimeline) -> str:
    if run.facts.finished:
        return "The run ended but has not been judged: there is no verdict on any guarantee."
    phase = timeline.phase_at(timeline.end_ns)
    where = f", in the {phase}" if phase else ""
    return (
        f"This run did not finish: the record stops {duration(timeline.end_ns / NS_PER_S)} after it began{where}. "
        "Nothing was judged; what was recorded until then is below."
    )


def _broken(run: StoredRun, broken: Mapping[str, VerdictRecord]) -> str:
    assert run.judgement is not None
    shown = [
        f"{name} ({count(len(verdict.witnesses), 'witness', 'witnesses')})"
        for name, verdict in list(broken.items())[:NAMED_MAX]
    ]
    rest = len(broken) - len(shown)
    if rest:
        shown.append(f"{rest} more")
    claimed = count(len(run.judgement.verdicts), "guarantee")
    facts = run.facts
    return (
        f"{facts.system} violated {len(broken)} of the {claimed} it claims, under {facts.scenario}: {listing(shown)}."
    )


def _why_unknown(run: StoredRun, judgement: JudgementRecord) -> str:
    """The first reason for "unknown", as a sentence; empty if there is none."""
    undecided = named(judgement.verdicts, Ruling.UNKNOWN)
    if judgement.problems or run.facts.problems:
        return _sentence((*judgement.problems, *run.facts.problems)[0])
    if judgement.malformed or run.recorded.malformed:
        return f"the history is malformed at {_sentence(str((*judgement.malformed, *run.recorded.malformed)[0]))}"
    if undecided:
        name, verdict = next(iter(undecided.items()))
        return f"{name} is undecided: {_sentence(verdict.reason or 'no reason was given')}"
    if not judgement.verdicts:
        return "no guarantee was judged."
    if not run.facts.finished:
        return "the run did not finish."
    if judgement.exit_code != 0:
        return f"the checkers ended with exit code {judgement.exit_code}."
    return ""


def _held(run: StoredRun, judgement: JudgementRecord) -> str:
    total = len(judgement.verdicts)
    idle = sum(not verdict.exercised for verdict in judgement.verdicts.values())
    claimed = "the guarantee" if total == 1 else f"all {total} guarantees"
    kept = f"{run.facts.system} kept {claimed} it claims, under {run.facts.scenario}"
    if not idle:
        return f"{kept}; the run tested each of them."
    return f"{kept}; the run tested {total - idle} of them, {idle} {'was' if idle == 1 else 'were'} not exercised."


def _sentence(words: str) -> str:
    line = words.strip().split("\n", 1)[0]
    return line if line.endswith((".", "!", "?")) else f"{line}."
