"""The options of every command that tests a system of the user's own: an adapted app, a plug-in, or a program."""

import functools
import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from scenarios.adapters.adapted import Adapted
    from scenarios.contract.system import System

DEFAULT_SYSTEM = "reference"
WORKERS_MAX = 50


@dataclass(frozen=True, slots=True)
class ChosenSystem:
    """What the options name. `named`: a value of --system, or an adapted app."""

    named: "str | Adapted"
    python: Path | None = None
    timeout_s: float | None = None

    @property
    def is_adapted(self) -> bool:
        """Whether it is an app of a library that the lab knows."""
        return not isinstance(self.named, str)

    def open(self) -> "System":
        """The system; a user's runs in a client process. Raises as `scenarios.plugin.opening.open_system`."""
        from scenarios.plugin.opening import open_system

        return open_system(self.named, python=self.python, timeout_s=self.timeout_s)

    def options(self) -> str:
        """The options that name it again, for the line that repeats a run."""
        named = f"--system {self.named}" if isinstance(self.named, str) else self.named.options()
        return named if self.python is None else f"{named} --python {self.python}"


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
        typer.Option(
            metavar="MODULE:APP", help="Test your Celery app, with its own settings: its task that --task names."
        ),
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
            metavar="MODULE:APP", help="Test your Procrastinate app, with its own settings: its task that --task names."
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
) -> ChosenSystem:
    """The system that these options name.

    Raises:
        WrongUsage: options that exclude or need each other.
    """
    from scenarios.adapters.adapted import WORKERS, Adapted, own_app
    from scenarios.errors import WrongUsage

    places = {"celery": celery, "dramatiq": dramatiq, "rq": rq, "procrastinate": procrastinate}
    apps = {library: place for library, place in places.items() if place is not None}
    named = [f"--{name}" for name in (*(["system"] if system is not None else []), *apps)]
    if len(named) > 1:
        raise WrongUsage(f"{' and '.join(named)} cannot be combined")
    own = None if system is None else own_app(system)
    if own is not None:
        if task is not None:
            raise WrongUsage(f"--system {system} has one task; --task is for an app of your own")
        apps = {own.library: own.place}
    if not apps:
        stated = {"--task": task, "--workers": workers, "--worker": worker, "--claims": claims}
        stated["--unscaled"] = unscaled or None
        if lost := [option for option, value in stated.items() if value is not None]:
            raise WrongUsage(f"{' and '.join(lost)}: only for an app ({', '.join(APP_OPTIONS)})")
        return ChosenSystem(DEFAULT_SYSTEM if system is None else system, python, plugin_timeout)
    [(library, place)] = apps.items()
    return ChosenSystem(
        Adapted(
            library,
            place,
            task if own is None else own.task,
            own=system,
            workers=WORKERS if workers is None else workers,
            worker_arguments=tuple(_split(worker or "")),
            claims=() if claims is None else _promises(claims),
            unscaled=unscaled,
        ),
        python,
        plugin_timeout,
    )


APP_OPTIONS = ("--celery", "--dramatiq", "--rq", "--procrastinate")


def with_system(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with the options above in place of its parameter `chosen`."""
    options = inspect.signature(_system_options, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True).parameters

    @functools.wraps(command)
    def called(**given: Any) -> None:
        from tasklab.exit_codes import explained

        with explained():
            chosen = _system_options(**{name: given.pop(name) for name in options})
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


def _promises(claims: str) -> tuple[str, ...]:
    from scenarios.errors import WrongUsage

    names = tuple(name.strip() for name in claims.split(",") if name.strip())
    if not names:
        raise WrongUsage("--claims names no promise; `tasklab list guarantees` prints all")
    return names


def _split(arguments: str) -> list[str]:
    from scenarios.errors import WrongUsage

    try:
        return shlex.split(arguments)
    except ValueError as error:
        raise WrongUsage(f"--worker {arguments!r}: {error}") from error
