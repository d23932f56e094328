"""The shortest story that proves a violation: the events of a witness that its checker needs to find it. Pure."""

from collections.abc import Callable, Sequence

from scenarios.judging.checkers import CHECKERS
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.journey import Journey, JourneyStep, journey_of, story_of
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Proof, Violation
from scenarios.record.history import Event, FaultSpan, History

EVENTS_MAX = 300
"""A longer story is not shortened, because shortening runs the checker once for each event."""


def shortest_story(history: History, guarantee: Guarantee, witness: str, policy: Policy) -> Journey:
    """The witness's story without every event that the checker does not need to find the same violation; removal begins at the end.

    Only a violation that rests on present events is shortened. The story stays whole if a missing event is the proof, or if the proof
    needs other tasks as well (an order, a key answered twice).
    """
    check = CHECKERS[guarantee]
    story = story_of(history, witness)

    def violations_in(events: Sequence[Event]) -> list[Violation]:
        return [violation for violation in check(History(events), policy).violations if violation.witness == witness]

    found = violations_in(story) if len(story) <= EVENTS_MAX else []
    if found and found[0].proof is Proof.EVENTS:
        shorter = _reduced(story, lambda events: found[0] in violations_in(events))
        while len(shorter) < len(story):  # after a removal, further events may have become unnecessary
            story, shorter = shorter, _reduced(shorter, lambda events: found[0] in violations_in(events))
    return journey_of(story, witness)


def _reduced(story: list[Event], proves: Callable[[list[Event]], bool]) -> list[Event]:
    for event in reversed(story):
        without = [other for other in story if other is not event]
        if proves(without):
            story = without
    return story


def crossed(history: History, steps: Sequence[JourneyStep]) -> list[FaultSpan]:
    """The faults that were on at any time of these steps."""
    if not steps:
        return []
    return [span for span in history.faults if span.overlaps(steps[0].t_ns, steps[-1].t_ns)]
