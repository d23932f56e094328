"""The facts of an app on the terminal."""

from collections.abc import Mapping
from typing import Any

from tasklab.presentation.terminal import console


def print_facts(document: Mapping[str, Any]) -> None:
    """A table of the settings, then what the lab makes of them: promises, pace and limits. `document`: of `tasklab facts --json`."""
    from rich.table import Table

    versions = ", ".join(f"{name} {version}" for name, version in sorted(document["versions"].items()))
    table = Table(title=f"{document['system']} ({versions})", title_justify="left")
    table.add_column("setting", no_wrap=True)
    for heading in ("value", "in the lab", "read from", "what follows"):
        table.add_column(heading, overflow="fold")
    for fact in document["facts"]:
        scaled = fact["scaled"]
        table.add_row(fact["name"], fact["value"], "" if scaled is None else scaled, fact["source"], fact["means"])
    console().print(table)
    if document["untried"]:
        console().print(document["untried"])
    console().print(f"judged by: {', '.join(document['claims'])}")
    console().print(f"needs: {', '.join(document['needs'])}")
    for what in ("pace", "policy"):
        stated = ", ".join(f"{name} = {_short(value)}" for name, value in document[what].items())
        console().print(f"{what}: {stated}")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
