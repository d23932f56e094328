"""The options of every command that runs a system of the user's own."""

from pathlib import Path
from typing import Annotated

import typer

PluginSystem = Annotated[
    str,
    typer.Option(
        help="A name from `tasklab list systems`, package.module:attribute of your own plug-in, or a program "
        "(a path with a / in it) that speaks the protocol of docs/protocol.md."
    ),
]
PluginPython = Annotated[
    Path | None,
    typer.Option(metavar="PROGRAM", help="The Python that loads your plug-in. Default: the lab's."),
]
PluginTimeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=0.1,
        max=3600,
        help="How long each answer of your plug-in may take. Default: 30, for accounts 60 (docs/protocol.md).",
    ),
]


def repeated(system: str, python: Path | None) -> str:
    """The value of --system, with --python, in the line that repeats a run."""
    return system if python is None else f"{system} --python {python}"
