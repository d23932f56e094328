"""What the record of the run says of the system's words: attempts, effects, the trail, and who wrote what."""

from collections import Counter
from collections.abc import Sequence

from scenarios.judging.assumptions import events_of_the_wrong_source
from scenarios.judging.checkers.legal_transitions import TRANSITIONS
from scenarios.record.events import Event
from scenarios.record.history import Recorded
from scenarios.stored.rundir import RunDirectory
from tasklab.conforming.findings import WordFindings
from tasklab.conforming.words import PLAIN

SHOWN = 3
CLOCK_NS = 2_000_000_000
"""How far a time of the trail may lie outside of the run: two clocks were read."""


def check_record(directory: RunDirectory, findings: WordFindings, *, has_own_body: bool) -> None:
    """Read the run directory; the run is over. `has_own_body`: which effects its tasks have is theirs to say."""
    recorded = directory.read_history()
    _check_form(recorded, findings)
    events = recorded.history.events
    _check_attempts([event for event in events if event.task in PLAIN], findings)
    if not has_own_body:
        _check_effects([event for event in events if event.event in ("effect", "effect.rejected")], findings)
    trail = [event for event in events if event.event in ("state", "dead")]
    if trail:
        _check_trail(trail, recorded, findings)


def _check_form(recorded: Recorded, findings: WordFindings) -> None:
    wrong = [f"{one.file}, line {one.line}: {one.why}" for one in recorded.malformed[:SHOWN]]
    wrong += list(events_of_the_wrong_source(recorded.foreign_events))[:SHOWN]
    mend = "only the probe writes into the files of a worker, and only what the worker itself knows"
    findings.decide("record", wrong, f"{len(recorded.history.events)} events, each by its source", mend)


def _check_attempts(events: Sequence[Event], findings: WordFindings) -> None:
    """Of the plain tasks, before any fault."""
    starts = [event for event in events if event.event == "attempt.start"]
    ended = {event.task for event in events if event.event == "attempt.ok"}
    acted = {event.task for event in events if event.event == "effect"}
    wrong = [f"{task} had an effect, and its attempt did not end" for task in sorted(acted - ended, key=str)[:SHOWN]]
    times = Counter(event.task for event in starts)
    wrong += [f"{task} was run {count} times without a fault" for task, count in times.items() if count > 1][:SHOWN]
    numbers = {event.attempt for event in starts}
    wrong += [f"the first attempt has the number {number}" for number in numbers if number not in (None, 1)]
    counted = (
        "numbered from 1"
        if numbers == {1}
        else "without numbers: pass attempt, and retries can be told from redeliveries"
    )
    mend = "call run_task once for each attempt, let it end by itself, and count attempts from 1"
    findings.decide("attempts", wrong, f"each plain task had one attempt, {counted}", mend)


def _check_effects(effects: Sequence[Event], findings: WordFindings) -> None:
    accepted = [event for event in effects if event.event == "effect"]
    times = Counter((event.task, event.step) for event in accepted)
    more = [
        f"{task} had {count} effects of step {step}"
        for (task, step), count in times.items()
        if task in PLAIN and count > 1
    ]
    strange = [f"{task} had an effect of step {step}, which was not asked for" for task, step in times if step != 1]
    keyed, fenced = (any(getattr(event, name) is not None for event in accepted) for name in ("key", "fence"))
    carried = " and ".join(["a key"] * keyed + ["a fence"] * fenced)
    right = f"effects carry {carried}" if carried else "effects carry neither key nor fence: each attempt has one"
    findings.decide(
        "effects", (more + strange)[:SHOWN], right, "the handler has exactly the effects that run_task gives it"
    )


def _check_trail(trail: Sequence[Event], recorded: Recorded, findings: WordFindings) -> None:
    states = set(TRANSITIONS) | {state for following in TRANSITIONS.values() for state in following}
    wrong = []
    late = [event for event in trail if not -CLOCK_NS <= event.t_ns <= recorded.history.last_ns + CLOCK_NS]
    early = [event for event in trail if event.t_ns < -CLOCK_NS]
    if late or early:
        event = (early or late)[0]
        wrong.append(f"{event.event} of {event.task} is at {event.t_ns / 1e9:,.0f} s of the run")
    unknown = sorted({str(event.to) for event in trail if event.event == "state" and event.to not in states})
    wrong += [f"{', '.join(unknown)} is no state"] * bool(unknown)
    strangers = sorted({str(event.task) for event in trail} - set(recorded.history.tasks))
    wrong += [f"{one} is no task of this run" for one in strangers[:1]]
    mend = "t_ns are nanoseconds since the epoch by this machine's clock; states and names of tasks are those of docs/history.md"
    findings.decide("trail", wrong, f"{len(trail)} rows, within the time of the run", mend)
