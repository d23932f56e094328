"""The journey of a witness: the events of one task, resource or user in words, one line an event, with the faults of that time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scenarios.record.history import FINAL_LISTS, FOREVER_NS, NS_PER_S, Event, FaultSpan, History

STEPS_MAX = 80
"""Maximum number of steps; of a longer journey the first half and the last half of this number are kept."""

LANES = ("client", "database", "broker", "worker", "outside", "lab")

_LANE_OF: Mapping[str, str] = {
    **dict.fromkeys(("submit", "cancel", "pause", "resume", "redrive", "status", "allowed", "denied"), "client"),
    **dict.fromkeys(("state", "dead"), "database"),
    "spawn": "database",
    "ack": "broker",
    **dict.fromkeys(("attempt", "progress", "lease", "crash", "restart"), "worker"),
    **dict.fromkeys(("effect", "write"), "outside"),
    **dict.fromkeys(("fault", "final", "secret"), "lab"),
}


@dataclass(frozen=True, slots=True)
class JourneyStep:
    """One line of a journey. `text` is a sentence for a person."""

    t_ns: int
    actor: str
    lane: str
    event: str
    text: str


@dataclass(frozen=True, slots=True)
class Journey:
    """The story of a task, resource or user: its events, the crashes of its workers, the faults of its time, and the account.

    `left_out`: number of events left out in the middle.
    """

    steps: tuple[JourneyStep, ...]
    left_out: int = 0


def journeys(history: History, witnesses: Iterable[str]) -> dict[str, Journey]:
    """The journeys of these witnesses, in one pass over the history; without steps if it has no events of a witness."""
    return {witness: journey_of(story, witness) for witness, story in _stories(history, witnesses).items()}


def story_of(history: History, witness: str) -> list[Event]:
    """All events of a journey."""
    return _stories(history, [witness])[witness]


def journey_of(story: Sequence[Event], witness: str) -> Journey:
    """These events in words, one line each; of a long story the beginning and the end."""
    half = STEPS_MAX // 2
    left_out = max(0, len(story) - STEPS_MAX)
    shown = [*story[:half], *story[-half:]] if left_out else story
    return Journey(tuple(_step(event, witness) for event in shown), left_out)


def _stories(history: History, witnesses: Iterable[str]) -> dict[str, list[Event]]:
    own: dict[str | None, list[Event]] = {witness: [] for witness in witnesses}
    context = []
    for event in history.events if own else ():
        if event.task in own:
            own[event.task].append(event)
        elif event.task is None:
            name = event.resource or _other_name(event)
            if name in own:
                own[name].append(event)
            if event.event in ("crash", "restart") or event.event.startswith("fault."):
                context.append(event)
    return {witness: _story(history, events, context) for witness, events in own.items() if witness is not None}


def _other_name(event: Event) -> str | None:
    """The subject of an event without a task or resource: the user of a limiter's decision, or the target."""
    if event.event in ("allowed", "denied"):
        return event.user
    return event.target


def _story(history: History, own: list[Event], context: list[Event]) -> list[Event]:
    if not own:
        return []
    first_ns, last_ns = own[0].t_ns, own[-1].t_ns
    workers = {event.actor for event in own if _lane(event) == "worker"}
    crossed = {(span.fault, span.target) for span in history.faults if span.overlaps(first_ns, last_ns)}
    included = set(map(id, own))
    around = [
        event
        for event in context
        if id(event) not in included
        and (
            (event.fault, event.target) in crossed
            or (event.fault is None and event.actor in workers and first_ns <= event.t_ns <= last_ns)
        )
    ]
    end = [history.final] if history.final is not None and id(history.final) not in included else []
    return [*sorted([*own, *around], key=lambda event: event.t_ns), *end]


def _lane(event: Event) -> str:
    return _LANE_OF[event.event.partition(".")[0]]


def _step(event: Event, witness: str) -> JourneyStep:
    words = _WORDS.get(event.event)
    text = words(event) if words is not None else _final_words(event, witness)
    if event.detail:
        text += f" ({event.detail})"
    return JourneyStep(event.t_ns, event.actor, _lane(event), event.event, text)


def words_of(event: Event) -> str:
    """This event as the rest of a sentence that begins with its actor. Not for `final`, whose words depend on a witness."""
    return _WORDS[event.event](event)


def _numbered(event: Event) -> str:
    return "an attempt" if event.attempt is None else f"attempt {event.attempt}"


def _fenced(event: Event) -> str:
    return "" if event.fence is None else f" with fence {event.fence}"


def _spawned(event: Event) -> str:
    if event.schedule is not None:
        return f"creates it for schedule {event.schedule}"
    return "creates it" + (f", as a child of {event.parent}" if event.parent else "")


def _named(event: Event) -> str:
    return "" if event.id is None else f" as {event.id}"


def _final_words(event: Event, witness: str) -> str:
    places = [name for name in FINAL_LISTS if witness in (getattr(event, name) or ())]
    run = "all healed" if event.healed else "not healed"
    run += ", drained" if event.caught_up else ", not drained in time"
    return f"the end ({run}): the account lists it {'as ' + ' and '.join(places) if places else 'nowhere'}"


_WORDS: Mapping[str, Callable[[Event], str]] = {
    "submit.invoke": lambda event: "submits the task" + (f" under key {event.key}" if event.key else ""),
    "submit.ok": lambda event: f"gets the answer: accepted{_named(event)}",
    "submit.fail": lambda event: "gets the answer: refused",
    "submit.info": lambda event: "gets no answer: it may have been accepted",
    "spawn": _spawned,
    "attempt.start": lambda event: f"starts {_numbered(event)}",
    "attempt.ok": lambda event: f"finishes {_numbered(event)}",
    "attempt.fail": lambda event: f"fails in {_numbered(event)}: a {event.error} error",
    "effect": lambda event: f"effect of step {event.step} accepted{_fenced(event)}",
    "effect.rejected": lambda event: f"effect of step {event.step} refused{_fenced(event)}",
    "ack.invoke": lambda event: "acknowledges the message",
    "ack.ok": lambda event: "the acknowledgement arrived",
    "ack.info": lambda event: "the acknowledgement may be lost",
    "state": lambda event: f"row: {event.from_ or 'created'} → {event.to}{_fenced(event)}",
    "dead": lambda event: f"dead letter after {event.attempts} attempts: {event.reason}",
    "redrive": lambda event: "a person redrives it",
    "cancel.invoke": lambda event: "asks to cancel it",
    "cancel.ok": lambda event: "gets the answer: cancelled, it will not run again",
    "cancel.fail": lambda event: "gets the answer: it cannot be cancelled",
    "cancel.info": lambda event: "gets no answer to the cancellation",
    "pause.ok": lambda event: "gets the answer: paused",
    "resume.ok": lambda event: "gets the answer: resumed",
    "lease.acquired": lambda event: f"acquires the lease for {event.ttl_s:g} s{_fenced(event)}",
    "lease.renewed": lambda event: f"renews the lease for {event.ttl_s:g} s{_fenced(event)}",
    "lease.released": lambda event: "releases the lease",
    "write": lambda event: f"write accepted{_fenced(event)}",
    "write.rejected": lambda event: f"write refused{_fenced(event)}",
    "allowed": lambda event: f"allowed by limit {event.limit}",
    "denied": lambda event: f"denied by limit {event.limit}",
    "progress": lambda event: f"reports {event.percent:g} %",
    "status": lambda event: f"reads {event.state}",
    "crash": lambda event: "crashes",
    "restart": lambda event: "is running again",
    "fault.begin": lambda event: f"fault {event.fault} on {event.target}: begins",
    "fault.bit": lambda event: f"fault {event.fault} on {event.target}: seen to bite",
    "fault.end": lambda event: f"fault {event.fault} on {event.target}: lifted",
    "fault.healed": lambda event: f"fault {event.fault} on {event.target}: target seen healthy",
    "secret.sought": lambda event: f"searches {event.target} for canaries",
    "secret.found": lambda event: f"finds a canary in {event.target}",
}


def fault_words(span: FaultSpan) -> str:
    """A fault and its time in words."""
    until = "never healed" if span.healed_ns == FOREVER_NS else f"healed at {span.healed_ns / NS_PER_S:.3f} s"
    return f"{span.fault} on {span.target} from {span.begun_ns / NS_PER_S:.3f} s, {until}"
