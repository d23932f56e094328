"""The journey of one task across client, database, broker, worker, outside and lab, as rows in order of time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal

from reports.thread import Lines, thread
from reports.timeline import RunTimeline
from reports.wording import count, duration, offset
from scenarios.judging.journey import LANES, JourneyStep
from scenarios.judging.judgement_record import JudgementRecord
from scenarios.judging.verdict import Ruling
from scenarios.record.history import NS_PER_S
from scenarios.record.run_facts import FaultRecord

JOURNEYS_MAX = 40
REPEATED_MIN = 3
PAUSE_NS = NS_PER_S // 2  # a longer time without events gets a row of its own


@dataclass(frozen=True, slots=True)
class JourneyRow:
    """One line of a journey.

    `kind`: `event` (of the task), `fault` (an instant of a fault during the journey), `pause` (a long time without events) or `end` (of
    the run). `until_ns`: the time of the last of several equal events, else 0. `lines`: for each of `LANES`, the directions in which
    the thread through the task's events leaves that cell.
    """

    kind: Literal["event", "fault", "pause", "end"]
    text: str
    at_ns: int
    until_ns: int = 0
    offset: str = ""
    lane: str = ""
    actor: str = ""
    letters: tuple[str, ...] = ()
    lines: Lines = ((),) * len(LANES)


@dataclass(frozen=True, slots=True)
class JourneyTable:
    """A witness and its rows. `breaks`: the guarantees whose violation it proves; `left_out`: the number of events without a row."""

    task: str
    breaks: tuple[str, ...]
    rows: tuple[JourneyRow, ...]
    left_out: int = 0


def journeys_of(judgement: JudgementRecord, timeline: RunTimeline) -> tuple[JourneyTable, ...]:
    """The journeys in verdicts.json, witnesses of broken guarantees first; at most `JOURNEYS_MAX`."""
    breaks = _broken_by(judgement)
    ordered = [task for task in breaks if task in judgement.journeys]
    ordered += [task for task in judgement.journeys if task not in breaks]
    unended = _unended(judgement)
    return tuple(
        replace(
            _journey(task, judgement.journeys[task], breaks.get(task, ()), unended.get(task, ""), timeline),
            left_out=judgement.left_out.get(task, 0),
        )
        for task in ordered[:JOURNEYS_MAX]
    )


def _unended(judgement: JudgementRecord) -> Mapping[str, str]:
    """A sentence for each task that never ended."""
    if judgement.account is None:
        return {}
    lost = dict.fromkeys(judgement.account.lost, "Lost: acknowledged, and in no list of the system")
    return lost | dict.fromkeys(judgement.account.stuck, "Stuck: accepted, and not ended")


def _broken_by(judgement: JudgementRecord) -> Mapping[str, tuple[str, ...]]:
    """By witness, the broken guarantees that it proves; the first witness of every guarantee comes before any second one."""
    claimed = [(name, verdict) for name, verdict in judgement.verdicts.items() if verdict.ruling is Ruling.BROKEN]
    others = [(name, verdict) for name, verdict in judgement.not_claimed.items() if verdict.ruling is Ruling.BROKEN]
    guarantees: dict[str, list[str]] = {}
    for group in (claimed, others):
        for place in range(max((len(verdict.witnesses) for _, verdict in group), default=0)):
            for _, verdict in group:
                if place < len(verdict.witnesses):
                    guarantees.setdefault(verdict.witnesses[place], [])
    for name, verdict in (*claimed, *others):
        for witness in verdict.witnesses:
            guarantees[witness].append(name)
    return {task: tuple(names) for task, names in guarantees.items()}


def _journey(
    task: str, steps: Sequence[JourneyStep], breaks: tuple[str, ...], unended: str, timeline: RunTimeline
) -> JourneyTable:
    ordered = sorted(steps, key=lambda step: step.t_ns)
    # The rows of faults come from run.json; the events of faults in the history would only repeat them.
    own = [step for step in ordered if step.event != "final" and not step.event.startswith("fault.")]
    final = next((step for step in ordered if step.event == "final"), None)
    if not own:
        return JourneyTable(task, breaks, ())
    first_ns, last_ns = own[0].t_ns, own[-1].t_ns
    rows = list(_event_rows(own, timeline))
    rows += _fault_rows(timeline, first_ns, timeline.end_ns if unended else last_ns)
    rows.sort(key=lambda row: row.at_ns)
    rows = _with_pauses(rows)
    if unended or final is not None:
        latest_ns = max((step.t_ns for step in own if step.event != "status"), default=first_ns)
        rows.append(_end_row(unended, final, first_ns, latest_ns, timeline))
    return JourneyTable(task, breaks, _with_thread(rows))


def _event_rows(steps: Sequence[JourneyStep], timeline: RunTimeline) -> Iterable[JourneyRow]:
    """One row per event; equal events in a sequence (a client that polls, a holder that renews) are one row with their number."""
    first_ns = steps[0].t_ns
    for _, group in groupby(steps, key=lambda step: (step.actor, step.lane, step.event, step.text)):
        same = list(group)
        if len(same) < REPEATED_MIN:
            yield from (_event_row(step, first_ns, timeline) for step in same)
            continue
        until = f", and again {count(len(same) - 1, 'time')} until {offset(same[-1].t_ns, first_ns)}"
        row = _event_row(same[0], first_ns, timeline)
        yield replace(row, text=row.text + until, until_ns=same[-1].t_ns)


def _event_row(step: JourneyStep, origin_ns: int, timeline: RunTimeline) -> JourneyRow:
    return JourneyRow(
        kind="event",
        text=step.text or step.event,
        at_ns=step.t_ns,
        offset=offset(step.t_ns, origin_ns),
        lane=step.lane if step.lane in LANES else "lab",
        actor=step.actor,
        letters=timeline.faults_at(step.t_ns),
    )


def _fault_rows(timeline: RunTimeline, first_ns: int, until_ns: int) -> Iterable[JourneyRow]:
    """The instants, up to `until_ns`, of every fault that was active during the journey."""
    for letter, fault in timeline.faults:
        if fault.healed_ns is not None and fault.healed_ns < first_ns:
            continue
        for at_ns, text in _fault_instants(letter, fault):
            if at_ns <= until_ns:
                yield JourneyRow(
                    kind="fault",
                    text=text,
                    at_ns=at_ns,
                    offset=offset(at_ns, first_ns),
                    lane="lab",
                    actor="lab",
                    letters=timeline.faults_at(at_ns),
                )


def _fault_instants(letter: str, fault: FaultRecord) -> Iterable[tuple[int, str]]:
    name = f"{letter}: {fault.fault} on {fault.target}"
    evidence = f": {fault.evidence}" if fault.evidence else ""
    for at_ns, text in (
        (fault.begun_ns, f"fault {name} begins"),
        (fault.bit_ns, f"fault {letter} takes effect{evidence}"),
        (fault.ended_ns, f"fault {letter} is lifted"),
        (fault.healed_ns, f"fault {letter} is healed: {fault.target} is seen healthy"),
    ):
        if at_ns is not None:
            yield at_ns, text


def _with_pauses(rows: Sequence[JourneyRow]) -> list[JourneyRow]:
    """The rows, with an additional row for every long time without events between two of them."""
    out = list(rows[:1])
    seen_ns = 0
    for before, after in pairwise(rows):
        seen_ns = max(seen_ns, before.at_ns, before.until_ns)
        silence_ns = after.at_ns - seen_ns
        if silence_ns >= PAUSE_NS:
            letters = tuple(letter for letter in before.letters if letter in after.letters)
            text = f"{duration(silence_ns / NS_PER_S)} without any event of it"
            out.append(JourneyRow(kind="pause", text=text, at_ns=seen_ns, letters=letters))
        out.append(after)
    return out


def _end_row(
    unended: str, final: JourneyStep | None, first_ns: int, latest_ns: int, timeline: RunTimeline
) -> JourneyRow:
    """The task's place when the run ended; for a task that never ended, also the time since its last event."""
    at_ns = timeline.end_ns if final is None else final.t_ns
    text = "the run ends" if final is None else final.text
    if unended:
        text = f"{text}. {unended}; no event of it for {duration((at_ns - latest_ns) / NS_PER_S)}."
    return JourneyRow(
        kind="end",
        text=text,
        at_ns=at_ns,
        offset=offset(at_ns, first_ns),
        lane="lab",
        actor="lab",
        letters=timeline.faults_at(at_ns),
    )


def _with_thread(rows: Sequence[JourneyRow]) -> tuple[JourneyRow, ...]:
    """The rows with the thread that leads from each of the task's events to the next."""
    places = [LANES.index(row.lane) if row.kind == "event" else None for row in rows]
    return tuple(replace(row, lines=lines) for row, lines in zip(rows, thread(places, len(LANES)), strict=True))
