"""The story of a simulated world: its numbered steps as rows of a sequence picture, a lane for each actor, time going down."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.thread import Lines, thread
from reports.wording import offset
from scenarios.record.run_facts import Turn

TURNS_HEAD = 60
TURNS_TAIL = 30
LANES_MAX = 9
"""More actors than that share the last lane."""
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Step:
    """One row: the `number`-th step, told of an actor; `lane` is the place of its dot."""

    number: int
    offset: str
    actor: str
    text: str
    lane: int
    lines: Lines


@dataclass(frozen=True, slots=True)
class Story:
    """All rows, the names of their lanes, and how many steps in the middle are left out."""

    lanes: tuple[str, ...]
    steps: tuple[Step, ...]
    left_out: int = 0


def story_of(turns: Sequence[Turn]) -> Story | None:
    """The story in run.json, or None where there is none."""
    if not turns:
        return None
    numbered = list(enumerate(turns, 1))
    left_out = max(0, len(numbered) - TURNS_HEAD - TURNS_TAIL)
    shown = [*numbered[:TURNS_HEAD], *numbered[-TURNS_TAIL:]] if left_out else numbered
    actors = list(dict.fromkeys(turn.actor for _, turn in shown))
    lanes = actors if len(actors) <= LANES_MAX else [*actors[: LANES_MAX - 1], OTHERS]
    places = [min(actors.index(turn.actor), len(lanes) - 1) for _, turn in shown]
    steps = tuple(
        Step(number, offset(turn.began_ns, turns[0].began_ns), turn.actor, turn.text, place, lines)
        for (number, turn), place, lines in zip(shown, places, thread(places, len(lanes)), strict=True)
    )
    return Story(tuple(lanes), steps, left_out)
