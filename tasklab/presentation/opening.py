"""The opening of the demo on the terminal."""

from typing import TYPE_CHECKING

from tasklab.exit_codes import EXIT_HELD
from tasklab.presentation.story import print_story
from tasklab.presentation.terminal import STYLE_OF_EXIT, console

if TYPE_CHECKING:
    from tasklab.running.opening import Opening


def print_opening(opening: "Opening") -> None:
    """Print the result of the healthy worlds with its statistical bound, then the story of the defect."""
    from rich.text import Text

    tally, finding, told = opening.tally, opening.finding, opening.told
    say = console().print
    style = STYLE_OF_EXIT[tally.exit_code]
    sizes = f"{tally.worlds} worlds, {tally.tasks} tasks, {tally.faults} faults in {opening.took_s:.1f} s"
    say(
        Text(
            f"\nhealthy: {sizes}; alarms: {tally.silence if tally.exit_code == EXIT_HELD else 'see below'}", style=style
        )
    )
    for row in (*tally.broken, *tally.unknown):
        say(Text(f"  tasklab replay {row.token}", style=style))
    if told is None:
        say(Text(f"planted, and NOT FOUND in {finding.seeds} worlds: {opening.defect}", style="red"))
        return
    say(Text(f"planted: {opening.defect}"))
    say(f"found by {finding.by} in world {finding.seeds}, after {finding.seconds:.1f} s; shrunk:")
    print_story(told.turns)
    say(Text(f"  {finding.replay}\n"))
