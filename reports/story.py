"""The story of a simulated world: its numbered steps as rows of a sequence diagram, with a lane for each actor."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.thread import Lines, thread
from reports.wording import offset
from scenarios.record.run_facts import Turn

TURNS_HEAD = 60
TURNS_TAIL = 30
LANES_MAX = 9
"""Maximum number of lanes; all further actors share the last one."""
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class StoryRow:
    """One row: the `number`-th step, done by `actor`; `lane` is the index of the lane with its dot."""

    number: int
    offset: str
    actor: str
    text: str
    lane: int
    lines: Lines


@dataclass(frozen=True, slots=True)
class StoryTable:
    """All rows, the names of their lanes, and the number of steps that are left out in the middle."""

    lanes: tuple[str, ...]
    rows: tuple[StoryRow, ...]
    left_out: int = 0


def story_of(turns: Sequence[Turn]) -> StoryTable | None:
    """The story in run.json, or None if run.json has none."""
    if not turns:
        return None
    numbered = list(enumerate(turns, 1))
    left_out = max(0, len(numbered) - TURNS_HEAD - TURNS_TAIL)
    shown = [*numbered[:TURNS_HEAD], *numbered[-TURNS_TAIL:]] if left_out else numbered
    actors = list(dict.fromkeys(turn.actor for _, turn in shown))
    lanes = actors if len(actors) <= LANES_MAX else [*actors[: LANES_MAX - 1], OTHERS]
    places = [min(actors.index(turn.actor), len(lanes) - 1) for _, turn in shown]
    rows = tuple(
        StoryRow(number, offset(turn.began_ns, turns[0].began_ns), turn.actor, turn.text, place, lines)
        for (number, turn), place, lines in zip(shown, places, thread(places, len(lanes)), strict=True)
    )
    return StoryTable(tuple(lanes), rows, left_out)
