"""On the terminal, beside the verdicts of a run: its processes that ended by themselves, and where open tasks are."""

from collections.abc import Sequence

from scenarios.record.run_facts import DeathRecord
from scenarios.stored.open_tasks import OpenTasks
from tasklab.presentation.terminal import console

OPEN_SHOWN = 5
"""Tasks that have not ended whose places are printed."""


def print_notes(deaths: Sequence[DeathRecord], found: OpenTasks | None) -> None:
    """What an operator looks for next."""
    for death in deaths:
        _print_death(death)
    if found is not None:
        _print_open_tasks(found)


def _print_open_tasks(found: OpenTasks) -> None:
    """Where the first of them are, and what could not be read."""
    for why in found.unread:
        console().print(f"not searched for open tasks: {why}", style="yellow")
    for open_task in found.tasks[:OPEN_SHOWN]:
        places = list(dict.fromkeys(place.place for place in open_task.places))
        if not places and found.searched:
            places = [found.nowhere]
        said = [f"the system says: {open_task.says}"] if open_task.says else []
        console().print(
            f"not ended: {open_task.task}: {'; '.join([*said, *places]) or 'there was no message, key or row to search'}",
            style="yellow",
        )
    if found.total > OPEN_SHOWN:
        console().print(f"not ended: {found.total - OPEN_SHOWN} more, see open_tasks.json", style="yellow")


def _print_death(death: DeathRecord) -> None:
    """A process that ended by itself, with the end of its log."""
    times = "once" if death.times == 1 else f"{death.times} times"
    where = f"; logs/{death.log} ends:" if death.last_lines else ""
    console().print(f"ended by itself: {death.process}, {times} ({death.how}){where}", style="yellow")
    for line in death.last_lines:
        console().print(f"  {line}")
