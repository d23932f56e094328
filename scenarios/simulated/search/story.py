"""The story of a world in numbered steps: one sentence for consecutive acts of the same process."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from chaos.faults import FAULTS
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.journey import words_of
from scenarios.record.history import NS_PER_S, Event, History
from scenarios.record.run_facts import Turn
from scenarios.simulated.run import Simulated

CLAUSES_MAX = 9
"""Of a step with more clauses, only the first and last ones are told."""
BLOCK_MAX = 6
"""Maximum length of a block of steps whose repetitions are recognised."""

_TOLD = frozenset(
    {
        *("submit.invoke", "submit.ok", "submit.info", "submit.fail"),
        *("cancel.invoke", "cancel.ok", "cancel.info", "cancel.fail"),
        *("attempt.start", "attempt.ok", "attempt.fail", "effect", "effect.rejected", "write", "write.rejected"),
        *("state", "dead", "crash", "restart", "fault.bit", "lease.acquired", "lease.released"),
    }
)
_AT_THE_BROKER: Mapping[str, str] = {
    "publish": "publishes the message",
    "ack": "acknowledges the message",
    "requeue": "gives the message back",
    "reject": "rejects the message",
}
_ENDING_PROCESSES = frozenset(name for name, fault in FAULTS.items() if fault.ends_process)
_SAME_INSTANT_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Moment:
    at_ns: int
    actor: str
    text: str


def tell(world: Simulated, promise: Guarantee) -> list[Turn]:
    """How the promise broke in this world, ending with the verdict."""
    teller = _Teller(world, promise)
    turns: list[Turn] = []
    clauses: list[str] = []
    for moment in sorted(teller.moments(), key=lambda moment: moment.at_ns):
        if turns and turns[-1].actor == moment.actor:
            clauses.append(moment.text)
            turns[-1] = Turn(turns[-1].began_ns, moment.actor, _sentence(clauses))
        else:
            clauses = [moment.text]
            turns.append(Turn(moment.at_ns, moment.actor, moment.text))
    return [*told_once(turns), teller.verdict()]


class _Teller:
    """Selects the parts of the story: acts on the witnesses, and deaths of the processes involved."""

    def __init__(self, world: Simulated, promise: Guarantee) -> None:
        self._world = world
        self._events = History(world.events).events
        self._verdict = next(verdict for verdict in world.judgement.verdicts if verdict.guarantee is promise)
        self._witnesses = set(self._verdict.witnesses)
        self._ids = {str(event.id) for event in self._events if event.id is not None and event.task in self._witnesses}
        self._involved = {event.actor for event in self._events if self._is_about(event)}
        self._kills_ns = [
            (event.target, event.t_ns)
            for event in self._events
            if event.event == "fault.bit" and event.fault in _ENDING_PROCESSES
        ]

    def moments(self) -> list[_Moment]:
        """All parts of the story, as text."""
        told = [self._of_event(event) for event in self._events if event.event in _TOLD]
        # The broker first: the sort by time is stable, so a strike comes after the traffic that it waited for.
        return [*self._at_the_broker(), *(moment for moment in told if moment is not None)]

    def verdict(self) -> Turn:
        """The last step: the verdict."""
        end_ns = round(self._world.virtual_s * NS_PER_S)
        says = f"says: {self._verdict.guarantee} is {self._verdict.ruling}: {self._verdict.reason}"
        return Turn(end_ns, "the judge", says)

    def _is_about(self, event: Event) -> bool:
        return event.task in self._witnesses or event.resource in self._witnesses

    def _of_event(self, event: Event) -> _Moment | None:
        if event.event == "fault.bit":
            what = (event.fault or "").replace("_", " ")
            detail = f" ({event.detail})" if event.detail else ""
            return _Moment(event.t_ns, "the lab", f"strikes: {what}, {event.target}{detail}")
        if event.event in ("crash", "restart"):
            if event.actor not in self._involved or self._was_killed(event):
                return None
            return _Moment(event.t_ns, event.actor, _with_detail(words_of(event), event))
        if not self._is_about(event) or (
            event.event.startswith("lease") and event.task is None and self._is_task(event)
        ):
            return None
        if event.event == "state":
            return _Moment(event.t_ns, event.detail or event.actor, f"commits: {event.from_ or 'new'} → {event.to}")
        if event.event == "dead":
            return _Moment(event.t_ns, "the database", f"has a dead letter: {event.reason}")
        if event.event == "submit.ok":
            return _Moment(event.t_ns, "the client", "is told: accepted")
        return _Moment(event.t_ns, "the client" if event.actor.startswith("client") else event.actor, words_of(event))

    def _is_task(self, event: Event) -> bool:
        """Whether this is the lease of a task, which the row's transitions tell."""
        return event.resource is not None and not event.resource.startswith("lock:")

    def _was_killed(self, event: Event) -> bool:
        return event.event == "crash" and any(
            target == event.actor and abs(bit_ns - event.t_ns) < _SAME_INSTANT_NS for target, bit_ns in self._kills_ns
        )

    def _at_the_broker(self) -> list[_Moment]:
        return [
            _Moment(step.at_ns, step.fiber.partition("/")[0].partition(".")[0], _at_the_broker(step.what))
            for step in self._world.trace.steps
            if step.what.partition(":")[0] in _AT_THE_BROKER and any(id_ in step.subject for id_ in self._ids)
        ]


def _at_the_broker(what: str) -> str:
    asked, _, how = what.partition(": ")
    return _AT_THE_BROKER[asked] + (f", in vain ({how})" if how else "")


def _with_detail(text: str, event: Event) -> str:
    return f"{text} ({event.detail})" if event.detail else text


def _sentence(told: Sequence[str]) -> str:
    clauses = [_times(clause, len(list(same))) for clause, same in groupby(told)]
    if len(clauses) > CLAUSES_MAX:
        half = CLAUSES_MAX // 2
        clauses = [*clauses[:half], "…", *clauses[-half:]]
    return ", ".join(clauses)


def _times(clause: str, times: int) -> str:
    return clause if times == 1 else f"{clause} {'twice' if times == 2 else f'{times} times'}"


def told_once(turns: list[Turn]) -> list[Turn]:
    """The story without repetitions: a repeated block of steps is told once, with the number of repetitions."""
    told: list[Turn] = []
    position = 0
    while position < len(turns):
        length, times = _repetition(turns, position)
        told += turns[position : position + length]
        if times > 1:
            again = turns[position + length]
            steps = "this" if length == 1 else f"these {length} steps"
            told.append(Turn(again.began_ns, "and", f"{steps} come again, {times - 1} more times"))
        position += length * times
    return told


def _repetition(turns: Sequence[Turn], position: int) -> tuple[int, int]:
    """The most repeated block that begins here: its length, and its number; (1, 1) if none comes three times."""
    best = (1, 1)
    for length in range(1, BLOCK_MAX + 1):
        block = [_bare(turn) for turn in turns[position : position + length]]
        times = 1
        while [_bare(turn) for turn in turns[position + length * times : position + length * (times + 1)]] == block:
            times += 1
        if times > 2 and length * times > best[0] * best[1]:
            best = (length, times)
    return best


def _bare(turn: Turn) -> str:
    """The turn without its numbers."""
    return re.sub(r"\d+", "", f"{turn.actor} {turn.text}")
