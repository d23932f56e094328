"""The way of one task across client, database, broker, worker, outside and lab, as rows with time going down."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal

from reports.judgement import Judgement, Moment
from reports.thread import Lines, thread
from reports.timeline import Timeline
from reports.wording import count, duration, offset
from scenarios.judging.verdict import Ruling
from scenarios.record.history import NS_PER_S
from scenarios.record.run_facts import FaultRecord

LANES = ("client", "database", "broker", "worker", "outside", "lab")
JOURNEYS_MAX = 40
REPEATED_MIN = 3
PAUSE_NS = NS_PER_S // 2  # a silence longer than this gets a row of its own


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a journey.

    `kind`: `event` (of the task), `fault` (a moment of a strike that it lived through), `pause` (nothing was seen for a while) or
    `end` (of the run). `until_ns`: the last time of an event that was seen again and again, else 0.
    `lines` says for each of `LANES` in which directions the thread through the task's events leaves that cell.
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
class Journey:
    """A witness and its way; `breaks` are the promises it is a witness against, `left_out` how many events the rows lack."""

    task: str
    breaks: tuple[str, ...]
    rows: tuple[Row, ...]
    left_out: int = 0


def journeys_of(judgement: Judgement, timeline: Timeline) -> tuple[Journey, ...]:
    """The journeys in the verdicts, witnesses of broken promises first; at most `JOURNEYS_MAX`."""
    breaks = _broken_by(judgement)
    ordered = [task for task in breaks if task in judgement.journeys]
    ordered += [task for task in judgement.journeys if task not in breaks]
    fates = _fates(judgement)
    return tuple(
        replace(
            _journey(task, judgement.journeys[task], breaks.get(task, ()), fates.get(task, ""), timeline),
            left_out=judgement.left_out.get(task, 0),
        )
        for task in ordered[:JOURNEYS_MAX]
    )


def _fates(judgement: Judgement) -> Mapping[str, str]:
    """What became of the tasks that never ended, in words."""
    if judgement.account is None:
        return {}
    lost = dict.fromkeys(judgement.account.lost, "Lost: acknowledged, and nowhere to be found")
    return lost | dict.fromkeys(judgement.account.stuck, "Stuck: accepted, and not ended")


def _broken_by(judgement: Judgement) -> Mapping[str, tuple[str, ...]]:
    """Which broken promises each witness proves; the first witness of each promise comes before anybody's second."""
    claimed = [(name, ruled) for name, ruled in judgement.verdicts.items() if ruled.verdict is Ruling.BROKEN]
    others = [(name, ruled) for name, ruled in judgement.not_claimed.items() if ruled.verdict is Ruling.BROKEN]
    promises: dict[str, list[str]] = {}
    for group in (claimed, others):
        for place in range(max((len(ruled.witnesses) for _, ruled in group), default=0)):
            for _, ruled in group:
                if place < len(ruled.witnesses):
                    promises.setdefault(ruled.witnesses[place], [])
    for name, ruled in (*claimed, *others):
        for witness in ruled.witnesses:
            promises[witness].append(name)
    return {task: tuple(names) for task, names in promises.items()}


def _journey(task: str, moments: Sequence[Moment], breaks: tuple[str, ...], fate: str, timeline: Timeline) -> Journey:
    ordered = sorted(moments, key=lambda moment: moment.t_ns)
    # The faults come from the plan as it really went: the same moments seen in the history would only say them twice.
    own = [moment for moment in ordered if moment.event != "final" and not moment.event.startswith("fault.")]
    final = next((moment for moment in ordered if moment.event == "final"), None)
    if not own:
        return Journey(task, breaks, ())
    first_ns, last_ns = own[0].t_ns, own[-1].t_ns
    rows = list(_event_rows(own, timeline))
    rows += _fault_rows(timeline, first_ns, timeline.end_ns if fate else last_ns)
    rows.sort(key=lambda row: row.at_ns)
    rows = _with_pauses(rows)
    if fate or final is not None:
        moved_ns = max((moment.t_ns for moment in own if moment.event != "status"), default=first_ns)
        rows.append(_end_row(fate, final, first_ns, moved_ns, timeline))
    return Journey(task, breaks, _with_thread(rows))


def _event_rows(moments: Sequence[Moment], timeline: Timeline) -> Iterable[Row]:
    """A row an event; the same seen again and again (a client that polls, a holder that renews) is one row, and says how often."""
    first_ns = moments[0].t_ns
    for _, group in groupby(moments, key=lambda moment: (moment.actor, moment.lane, moment.event, moment.text)):
        same = list(group)
        if len(same) < REPEATED_MIN:
            yield from (_event_row(moment, first_ns, timeline) for moment in same)
            continue
        until = f", and again {count(len(same) - 1, 'time')} until {offset(same[-1].t_ns, first_ns)}"
        row = _event_row(same[0], first_ns, timeline)
        yield replace(row, text=row.text + until, until_ns=same[-1].t_ns)


def _event_row(moment: Moment, origin_ns: int, timeline: Timeline) -> Row:
    return Row(
        kind="event",
        text=moment.text or moment.event,
        at_ns=moment.t_ns,
        offset=offset(moment.t_ns, origin_ns),
        lane=moment.lane if moment.lane in LANES else "lab",
        actor=moment.actor,
        letters=timeline.strikes_at(moment.t_ns),
    )


def _fault_rows(timeline: Timeline, first_ns: int, until_ns: int) -> Iterable[Row]:
    """The moments, up to `until_ns`, of every strike that was in force at some time of the journey."""
    for letter, strike in timeline.strikes:
        if strike.healed_ns is not None and strike.healed_ns < first_ns:
            continue
        for at_ns, text in _fault_moments(letter, strike):
            if at_ns <= until_ns:
                yield Row(
                    kind="fault",
                    text=text,
                    at_ns=at_ns,
                    offset=offset(at_ns, first_ns),
                    lane="lab",
                    actor="lab",
                    letters=timeline.strikes_at(at_ns),
                )


def _fault_moments(letter: str, strike: FaultRecord) -> Iterable[tuple[int, str]]:
    name = f"{letter}: {strike.fault} on {strike.target}"
    evidence = f": {strike.evidence}" if strike.evidence else ""
    for at_ns, text in (
        (strike.begun_ns, f"fault {name} is asked for"),
        (strike.bit_ns, f"fault {letter} takes effect{evidence}"),
        (strike.ended_ns, f"fault {letter} is lifted"),
        (strike.healed_ns, f"fault {letter} is healed: {strike.target} is seen healthy"),
    ):
        if at_ns is not None:
            yield at_ns, text


def _with_pauses(rows: Sequence[Row]) -> list[Row]:
    """The rows, with every long silence between two of them made visible by a row of its own."""
    out = list(rows[:1])
    seen_ns = 0
    for before, after in pairwise(rows):
        seen_ns = max(seen_ns, before.at_ns, before.until_ns)
        silence_ns = after.at_ns - seen_ns
        if silence_ns >= PAUSE_NS:
            letters = tuple(letter for letter in before.letters if letter in after.letters)
            text = f"{duration(silence_ns / NS_PER_S)} in which nothing is seen of it"
            out.append(Row(kind="pause", text=text, at_ns=seen_ns, letters=letters))
        out.append(after)
    return out


def _end_row(fate: str, final: Moment | None, first_ns: int, moved_ns: int, timeline: Timeline) -> Row:
    """Where the task was when the run ended, and for how long nothing had happened to it if it never ended itself."""
    at_ns = timeline.end_ns if final is None else final.t_ns
    told = "the run ends" if final is None else final.text
    if fate:
        told = f"{told}. {fate}; nothing has happened to it for {duration((at_ns - moved_ns) / NS_PER_S)}."
    return Row(
        kind="end",
        text=told,
        at_ns=at_ns,
        offset=offset(at_ns, first_ns),
        lane="lab",
        actor="lab",
        letters=timeline.strikes_at(at_ns),
    )


def _with_thread(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows with the thread drawn that leads from each of the task's events to its next."""
    places = [LANES.index(row.lane) if row.kind == "event" else None for row in rows]
    return tuple(replace(row, lines=lines) for row, lines in zip(rows, thread(places, len(LANES)), strict=True))
