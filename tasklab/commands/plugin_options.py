"""The options of every command that tests a system of the user's own: an adapted app, a plug-in, or a program."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tasklab.commands.chosen_system import NAMING, ChosenSystem, choose

WORKERS_MAX = 50


def _system_options(
    system: Annotated[
        str | None,
        typer.Option(
            help="A name from `tasklab list systems`, package.module:attribute of your own plug-in, or a program "
            "(a path with a / in it) that speaks the protocol of docs/protocol.md; celery, dramatiq, rq or procrastinate: an app of the "
            "lab's own, as the library's documentation recommends it, with @defaults as it comes. Default: reference."
        ),
    ] = None,
    celery: Annotated[
        str | None,
        typer.Option(metavar="MODULE:APP", help="Test your Celery app, with its own settings; --task names the task."),
    ] = None,
    dramatiq: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:ACTOR",
            help="Test your Dramatiq app: this actor, with its own broker settings, options and middleware.",
        ),
    ] = None,
    rq: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Test your RQ app: this function, with the queue, retries and times of its decorator, or RQ's defaults.",
        ),
    ] = None,
    procrastinate: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:APP", help="Test your Procrastinate app, with its own settings; --task names the task."
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of your app: the name of the task, such as shop.tasks.charge.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=WORKERS_MAX, help="Of your app: number of worker processes. Default: 2."),
    ] = None,
    worker: Annotated[
        str | None,
        typer.Option(metavar="ARGUMENTS", help="Of your app: further arguments of the library's worker command."),
    ] = None,
    claims: Annotated[
        str | None,
        typer.Option(
            metavar="PROMISES",
            help="Of your app: the promises to judge it by, separated by commas. Default: see `tasklab facts`.",
        ),
    ] = None,
    unscaled: Annotated[
        bool,
        typer.Option(
            "--unscaled", help="Of your app: leave its long waits as they are. Default: above 10 s shortened."
        ),
    ] = False,
    keep_body: Annotated[
        bool,
        typer.Option(
            "--keep-body", help="Of your app: run the task's own code. Default: the lab's handler in place of it."
        ),
    ] = False,
    arguments: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help="With --keep-body: the arguments of each call, a JSON list or object, or package.module:function, which returns one "
            "for the name of each task.",
        ),
    ] = None,
    python: Annotated[
        Path | None,
        typer.Option(
            metavar="PROGRAM",
            help="The Python that loads your plug-in (default: the lab's) or app (default: the active virtual "
            "environment's, that of .venv, or the lab's).",
        ),
    ] = None,
    plugin_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            max=3600,
            help="How long each answer of your plug-in may take. Default: 30, for accounts 60 (docs/protocol.md).",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file that states what is tested. Default: tasklab.toml, or the table tool.tasklab of pyproject.toml, here or in a "
            "parent directory of this repository; options replace what it states (docs/configuration.md).",
        ),
    ] = None,
    no_config: Annotated[bool, typer.Option("--no-config", help="Read no such file.")] = False,
) -> None:
    """The options; the command gets the system that they name."""


def _chosen(given: dict[str, Any]) -> ChosenSystem:
    """The system that these options name, with what a configuration file states.

    Raises:
        WrongUsage: options that exclude or need each other, or an invalid file.
    """
    from scenarios.configuration.read import find_configuration, read_configuration
    from scenarios.errors import WrongUsage

    config, no_config = given.pop("config"), given.pop("no_config")
    naming = [f"--{name}" for name in NAMING if given[name] is not None] + (["--no-config"] if no_config else [])
    if config is not None:
        if naming:
            raise WrongUsage(f"--config and {naming[0]} cannot be combined")
        return choose(given, read_configuration(config))
    return choose(given, None if naming else find_configuration(Path.cwd()))


def with_system(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with the options above in place of its parameter `chosen`."""
    options = inspect.signature(_system_options, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True).parameters

    @functools.wraps(command)
    def called(**given: Any) -> None:
        from tasklab.exit_codes import explained

        with explained():
            chosen = _chosen({name: given.pop(name) for name in options})
        command(chosen=chosen, **given)

    stated = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, each in own.items()
        for parameter in (options.values() if name == "chosen" else (each,))
    ]
    del called.__wrapped__  # its signature is not that of the command line
    called.__signature__ = inspect.Signature(stated)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in stated}
    return called
