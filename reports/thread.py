"""The thread through the lanes of a sequence diagram: the line from each event to the next."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

Direction = Literal["up", "down", "left", "right"]

Lines = tuple[tuple[Direction, ...], ...]
"""For each lane of one row: the directions in which the thread leaves that cell."""


def thread(places: Sequence[int | None], lanes: int) -> list[Lines]:
    """The lines of each row. `places`: for each row, the lane of its event; None: the thread passes the row."""
    lines: list[list[set[Direction]]] = [[set() for _ in range(lanes)] for _ in places]
    on_it = [(row, lane) for row, lane in enumerate(places) if lane is not None]
    for (start, origin), (end, target) in pairwise(on_it):
        lines[start][origin].add("down")
        for between in range(start + 1, end):
            lines[between][origin] |= {"up", "down"}
        lines[end][origin].add("up")
        for lane in range(min(origin, target), max(origin, target)):
            lines[end][lane].add("right")
            lines[end][lane + 1].add("left")
    return [tuple(tuple(sorted(cell)) for cell in cells) for cells in lines]
