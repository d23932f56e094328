"""The shortest story that proves a break: of a witness's events, those without which its judge would find nothing. Pure."""

from collections.abc import Callable, Sequence

from scenarios.judging.checkers import CHECKERS
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.journey import Journey, JourneyStep, story_of, told
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Proof, Violation
from scenarios.record.history import Event, FaultSpan, History

EVENTS_MAX = 300
"""A longer story is told whole: shortening tries its judge once an event."""


def shortest_story(history: History, guarantee: Guarantee, witness: str, policy: Policy) -> Journey:
    """What is left of the witness's story when everything is taken out, from its end, without which the very same violation is still found.

    Only a violation that rests on events that are there is shortened. The whole story is told where something missing proves it, or where
    the proof needs other tasks as well (an order, a key answered twice).
    """
    check = CHECKERS[guarantee]
    story = story_of(history, witness)

    def violations_in(events: Sequence[Event]) -> list[Violation]:
        return [violation for violation in check(History(events), policy).violations if violation.witness == witness]

    found = violations_in(story) if len(story) <= EVENTS_MAX else []
    if found and found[0].proof is Proof.EVENTS:
        shorter = _without_the_needless(story, lambda events: found[0] in violations_in(events))
        while len(shorter) < len(story):  # what one event needed may be needless once that event is gone
            story, shorter = shorter, _without_the_needless(shorter, lambda events: found[0] in violations_in(events))
    return told(story, witness)


def _without_the_needless(story: list[Event], proves: Callable[[list[Event]], bool]) -> list[Event]:
    for event in reversed(story):
        without = [other for other in story if other is not event]
        if proves(without):
            story = without
    return story


def crossed(history: History, steps: Sequence[JourneyStep]) -> list[FaultSpan]:
    """The faults that were on at any time of a story."""
    if not steps:
        return []
    return [span for span in history.faults if span.overlaps(steps[0].t_ns, steps[-1].t_ns)]
