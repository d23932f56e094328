"""The figures of a load as a table."""

from typing import TYPE_CHECKING

from tasklab.presentation.terminal import console

if TYPE_CHECKING:
    from scenarios.record.run_facts import LoadFigures, Percentiles


def print_figures(figures: "LoadFigures") -> None:
    """Print the figures: times in milliseconds, from the due time of a submission."""
    from rich.table import Table

    from loadtests.figures import kept_up

    terminal = console()
    table = Table(title="ms since a submission was due", title_justify="left", expand=False)
    for heading in ("until", "50 %", "95 %", "99 %", "maximum"):
        table.add_column(heading, justify="left" if heading == "until" else "right")
    table.add_row("its answer", *_in_ms(figures.answers))
    table.add_row("its effect", *_in_ms(figures.effects))
    terminal.print(table)
    sent = f"{figures.sent} of {figures.planned} sent, {figures.offered_per_s:g}/s of {figures.planned_per_s:g}/s"
    answered = f"{figures.acknowledged} acknowledged, {figures.refused} refused, {figures.unknown} unknown"
    terminal.print(f"load:    {sent}; {answered}; {figures.backlog} open at its end")
    if not kept_up(figures):
        terminal.print(f"         {_overload(figures)}", style="yellow")


def _overload(figures: "LoadFigures") -> str:
    after = (
        f"{figures.without_effect} of them never had an effect"
        if figures.without_effect
        else f"caught up {figures.caught_up_s:.1f} s later"
    )
    return f"the system did not keep up: {figures.backlog} of {figures.sent} open when the load ended; {after}"


def _in_ms(times: "Percentiles | None") -> list[str]:
    if times is None:
        return ["–"] * 4
    return [f"{seconds * 1000:.0f}" for seconds in (times.p50_s, times.p95_s, times.p99_s, times.max_s)]
