"""What is said of a whole run, in one word and one sentence; never greener than what is known."""

from collections.abc import Mapping
from dataclasses import dataclass

from reports.judgement import Judgement, Ruled
from reports.reading import Run
from reports.timeline import Timeline
from reports.wording import count, duration, listing
from scenarios.judging.verdict import Ruling
from scenarios.record.history import NS_PER_S

NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Overall:
    """The ruling on a run and the sentence that a person reads first."""

    ruling: Ruling
    sentence: str


def overall(run: Run, timeline: Timeline) -> Overall:
    """Broken if a claimed promise is; held only if all are, the run ended, and neither lab nor judge had anything to object."""
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


def named(verdicts: Mapping[str, Ruled], ruling: Ruling) -> dict[str, Ruled]:
    """The verdicts of one ruling, in their order."""
    return {name: ruled for name, ruled in verdicts.items() if ruled.verdict is ruling}


def _unjudged(run: Run, timeline: Timeline) -> str:
    if run.facts.finished:
        return "The run ended but has not been judged: there is no verdict on any promise."
    phase = timeline.phase_at(timeline.end_ns)
    where = f", in the {phase}" if phase else ""
    return (
        f"This run did not finish: the record stops {duration(timeline.end_ns / NS_PER_S)} after it began{where}. "
        "Nothing was judged; what was recorded until then is below."
    )


def _broken(run: Run, broken: Mapping[str, Ruled]) -> str:
    assert run.judgement is not None
    shown = [
        f"{name} ({count(len(ruled.witnesses), 'witness', 'witnesses')})"
        for name, ruled in list(broken.items())[:NAMED_MAX]
    ]
    rest = len(broken) - len(shown)
    if rest:
        shown.append(f"{rest} more")
    claimed = count(len(run.judgement.verdicts), "promise")
    facts = run.facts
    return f"{facts.system} broke {len(broken)} of the {claimed} it claims, under {facts.scenario}: {listing(shown)}."


def _why_unknown(run: Run, judgement: Judgement) -> str:
    """The first reason there is to doubt, as a sentence; empty if there is none."""
    undecided = named(judgement.verdicts, Ruling.UNKNOWN)
    if judgement.problems or run.facts.problems:
        return _sentence((*judgement.problems, *run.facts.problems)[0])
    if judgement.malformed or run.recorded.malformed:
        return f"the history is malformed at {_sentence(str((*judgement.malformed, *run.recorded.malformed)[0]))}"
    if undecided:
        name, ruled = next(iter(undecided.items()))
        return f"{name} is undecided: {_sentence(ruled.reason or 'no reason was given')}"
    if not judgement.verdicts:
        return "no promise was judged."
    if not run.facts.finished:
        return "the run did not finish."
    if judgement.exit_code != 0:
        return f"the judge ended with exit code {judgement.exit_code}."
    return ""


def _held(run: Run, judgement: Judgement) -> str:
    total = len(judgement.verdicts)
    idle = sum(not ruled.exercised for ruled in judgement.verdicts.values())
    claimed = "the promise" if total == 1 else f"all {total} promises"
    kept = f"{run.facts.system} kept {claimed} it claims, under {run.facts.scenario}"
    if not idle:
        return f"{kept}; the run put each to the test."
    others = "one" if idle == 1 else str(idle)
    return f"{kept}; the run put {total - idle} to the test, {others} had no occasion to break."


def _sentence(words: str) -> str:
    line = words.strip().split("\n", 1)[0]
    return line if line.endswith((".", "!", "?")) else f"{line}."
