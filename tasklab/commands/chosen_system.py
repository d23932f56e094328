"""The system that a command tests: what the options name, or else the configuration file, or else the reference."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasklab.running.environments import EnvironmentName

if TYPE_CHECKING:
    from scenarios.adapters.adapted import Adapted
    from scenarios.configuration.description import SystemDescription
    from scenarios.configuration.read import Configuration
    from scenarios.contract.system import System
    from tasklab.conforming.wire import Speaker

DEFAULT_SYSTEM = "reference"
APPS = ("celery", "dramatiq", "rq", "procrastinate")
APP_OPTIONS = tuple(f"--{library}" for library in APPS)
NAMING = ("system", *APPS)
"""The options that name a system: with one of them the file is left aside."""
OF_APPS = ("task", "workers", "worker", "claims", "unscaled", "keep_body", "arguments")
"""Options that are for an app only."""


@dataclass(frozen=True, slots=True)
class ChosenSystem:
    """`named`: a value of --system, an adapted app, or a description of a file.

    `configuration`: the file, if its content was used; `given`: the options of the command line beside it.
    """

    named: "str | Adapted | SystemDescription"
    python: Path | None = None
    timeout_s: float | None = None
    configuration: "Configuration | None" = None
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_adapted(self) -> bool:
        """Whether it is an app of a library that the lab knows."""
        from scenarios.adapters.adapted import Adapted

        return isinstance(self.named, Adapted)

    @property
    def directory(self) -> Path | None:
        """Where modules and programs are found: that of the file; None: the present one."""
        return None if self.configuration is None else self.configuration.directory

    def open(self) -> "System":
        """The system; a user's runs in a client process. Raises as `scenarios.plugin.opening.open_system`."""
        from scenarios.configuration.described_system import described_system
        from scenarios.configuration.description import SystemDescription
        from scenarios.plugin.opening import deadlines_of, open_system

        if isinstance(self.named, SystemDescription):
            return described_system(self.named, deadlines_s=deadlines_of(self.timeout_s))
        return open_system(self.named, python=self.python, timeout_s=self.timeout_s, directory=self.directory)

    def speaker(self) -> "Speaker | None":
        """Its client process, if that is a program which speaks the protocol itself.

        Raises:
            WrongUsage: there is no such program.
        """
        from scenarios.configuration.description import SystemDescription
        from scenarios.plugin.opening import program_at
        from tasklab.conforming.wire import Speaker

        if isinstance(self.named, SystemDescription):
            return Speaker(self.named.client, self.named.directory, describes=False)
        if not isinstance(self.named, str) or "/" not in self.named:
            return None
        directory = Path.cwd() if self.configuration is None else self.configuration.directory
        return Speaker((str(program_at(self.named, directory)),), directory)

    def options(self) -> str:
        """The options that name it again, for the line that repeats a run."""
        if self.configuration is not None:
            file = os.path.relpath(self.configuration.file)
            return shlex.join(["--config", file, *(word for name in self.given for word in self._words(name))])
        from scenarios.adapters.adapted import Adapted

        named = self.named.options() if isinstance(self.named, Adapted) else f"--system {self.named}"
        return named if self.python is None else f"{named} --python {self.python}"

    def scenarios(self, named: Sequence[str] | None) -> list[str]:
        """Those that the command names, or else the file.

        Raises:
            WrongUsage: neither names one.
        """
        from scenarios.errors import WrongUsage

        stated = () if self.configuration is None else self.configuration.scenarios
        if not (named or stated):
            place = f"; {self.configuration.file.name} states no scenarios" if self.configuration else ""
            raise WrongUsage(f"name a scenario, such as worker_lost{place}; `tasklab list scenarios` prints all")
        return list(named or stated)

    def environment(self, named: EnvironmentName | None) -> EnvironmentName:
        """The one that the command names, or else the file, or else `local`."""
        stated = None if self.configuration is None else self.configuration.environment
        return named or stated or EnvironmentName.LOCAL

    def _words(self, option: str) -> list[str]:
        value = self.given[option]
        if value is True:
            return [_dashed(option)]
        return [_dashed(option), ",".join(value) if isinstance(value, tuple) else str(value)]


def _dashed(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def choose(given: Mapping[str, Any], configuration: "Configuration | None") -> ChosenSystem:
    """The system that these options name (None and False: not given), over what the file states.

    Raises:
        WrongUsage: options that exclude or need each other.
    """
    from scenarios.errors import WrongUsage

    options = {name: value for name, value in given.items() if value is not None and value is not False}
    if "claims" in options:
        options["claims"] = _promises(options["claims"])
    if configuration is None:
        return _named(options)
    if configuration.described:
        return _described(options, configuration)
    stated = dict(configuration.options)
    if not any(name in stated for name in NAMING):
        raise WrongUsage(
            f"{configuration.file} names no app and describes no system: add a line such as celery = …, or leave it aside with --no-config"
        )
    try:
        named = _named({**stated, **options})
    except WrongUsage as error:
        raise WrongUsage(f"{configuration.file.name}: {error}") from error
    return ChosenSystem(named.named, named.python, named.timeout_s, configuration, options)


def _described(options: Mapping[str, Any], configuration: "Configuration") -> ChosenSystem:
    from scenarios.errors import WrongUsage

    if lost := [_dashed(name) for name in options if name not in ("claims", "plugin_timeout")]:
        raise WrongUsage(f"{' and '.join(lost)}: not for the system that {configuration.file.name} describes")
    description = configuration.description(options.get("claims"))
    timeout_s = options.get("plugin_timeout", configuration.options.get("plugin_timeout"))
    return ChosenSystem(description, None, timeout_s, configuration, options)


def _named(options: Mapping[str, Any]) -> ChosenSystem:
    """The system of these options alone."""
    from scenarios.adapters.adapted import WORKERS, Adapted, own_app
    from scenarios.errors import WrongUsage

    naming = [name for name in NAMING if name in options]
    if len(naming) > 1:
        raise WrongUsage(f"{' and '.join(f'--{name}' for name in naming)} cannot be combined")
    python = None if "python" not in options else Path(options["python"])
    timeout_s = options.get("plugin_timeout")
    system, task = options.get("system"), options.get("task")
    own = None if system is None else own_app(system)
    if own is not None and task is not None:
        raise WrongUsage(f"--system {system} has one task; --task is for an app of your own")
    if own is None and naming in ([], ["system"]):
        if lost := [_dashed(name) for name in OF_APPS if name in options]:
            raise WrongUsage(f"{' and '.join(lost)}: only for an app ({', '.join(APP_OPTIONS)})")
        return ChosenSystem(DEFAULT_SYSTEM if system is None else system, python, timeout_s)
    library, place = (own.library, own.place) if own is not None else (naming[0], options[naming[0]])
    app = Adapted(
        library,
        place,
        task if own is None else own.task,
        own=system,
        workers=options.get("workers", WORKERS),
        worker_arguments=tuple(_split(options.get("worker", ""))),
        claims=options.get("claims", ()),
        unscaled=options.get("unscaled", False),
        keep_body=options.get("keep_body", False),
        arguments=options.get("arguments"),
    )
    return ChosenSystem(app, python, timeout_s)


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
