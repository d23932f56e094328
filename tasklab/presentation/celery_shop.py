"""The sample Celery app of `tasklab demo`: both configurations beside each other."""

from pathlib import Path
from typing import Any

from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD
from tasklab.presentation.terminal import STYLE_OF_EXIT, console
from tasklab.running.celery_shop import SAMPLE, SCENARIOS, SETTINGS, ShopRuns

RULINGS = {EXIT_HELD: "held", EXIT_BROKEN: "BROKEN"}


def print_celery_shop(shop: ShopRuns) -> None:
    """A table, what Celery documents of it, and the reports; or why there is none."""
    from rich.table import Table
    from rich.text import Text

    terminal = console()
    terminal.print()
    if shop.why_not:
        terminal.print(Text(f"the sample Celery app was not run: {shop.why_not}", style="yellow"))
        return
    table = Table(title=f"the sample Celery app, {SAMPLE}", title_justify="left")
    for heading in ("scenario", *(f"shop.{settings}" for settings in SETTINGS)):
        table.add_column(heading, overflow="fold")
    cells = {(settings, run["scenario"]): run for settings, runs in shop.runs.items() for run in runs}
    for scenario in SCENARIOS:
        table.add_row(scenario, *(_cell(cells[settings, scenario]) for settings in SETTINGS))
    terminal.print(table)
    said = {sentence for run in cells.values() for name, sentence in run["documented"].items() if _breaks(run, name)}
    for sentence in sorted(said):
        terminal.print(f"documented: {sentence}")
    for settings, report in shop.reports.items():
        terminal.print(Text(f"report of shop.{settings}: {_short(report)}"))


def _cell(run: dict[str, Any]) -> Any:
    from rich.text import Text

    if run.get("why"):
        return Text(f"not applicable: {run['why']}", style="dim")
    broken = [name for name in run.get("verdicts", {}) if _breaks(run, name)]
    words = RULINGS.get(run["exit_code"], "unknown") + (f": {', '.join(broken)}" if broken else "")
    return Text(words, style=STYLE_OF_EXIT[run["exit_code"]])


def _breaks(run: dict[str, Any], name: str) -> bool:
    return bool(run["verdicts"].get(name, {}).get("verdict") == "broken")


def _short(report: Path) -> Path:
    return report.relative_to(Path.cwd()) if report.is_relative_to(Path.cwd()) else report
