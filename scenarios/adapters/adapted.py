"""Which app of which library is to be tested: the choice of the command line, and the client process that it needs."""

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from scenarios.errors import UnknownName, WrongUsage

SHIMS = Path(__file__).parent / "shims"
"""The files that run in the user's Python, each with a name that begins with `tasklab_`."""
LIBRARIES: Mapping[str, bool] = MappingProxyType(
    {"celery": True, "dramatiq": False, "rq": False, "procrastinate": True}
)
"""By library: whether its option names an app, so that --task has to name the task in it; else it names the task itself."""
TRIED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"celery": ("5.7.0",), "dramatiq": ("2.2.1",), "rq": ("3.0.0",), "procrastinate": ("3.10.0",)}
)
"""By library, the versions that the adapter was tried with."""
CONFIGURATIONS: Mapping[str, str] = MappingProxyType(
    {"": "recommended", "@recommended": "recommended", "@defaults": "defaults"}
)
"""What may follow the name of a library as a system: which task of the lab's own app that is."""
REFUSED = "tasklab: refused: this process asked for "
"""How a line of a log begins that tells of an address outside of the lab, then the address, a comma (shims/tasklab_guard.py)."""
WORKERS = 2


@dataclass(frozen=True, slots=True)
class Adapted:
    """One app: `place` is `package.module:attribute`; `task` a name in it, None where `place` is the task itself.

    `worker_arguments`: further arguments of the library's worker command. `claims`: promises to judge it by, empty for those of
    the adapter. `unscaled`: the library's long waits stay as they are. `keep_body`: the task's own code runs, called with `arguments`
    (JSON, or the place of a function). `own`: its name, if it is an app of the lab itself.
    """

    library: str
    place: str
    task: str | None = None
    workers: int = WORKERS
    worker_arguments: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    unscaled: bool = False
    keep_body: bool = False
    arguments: str | None = None
    own: str | None = None

    def __post_init__(self) -> None:
        module_name, colon, attribute = self.place.partition(":")
        if not (module_name and colon and attribute):
            raise WrongUsage(f"--{self.library} {self.place}: write package.module:attribute")
        if LIBRARIES[self.library] and self.task is None:
            raise WrongUsage(f"--{self.library} {self.place}: name the task with --task")
        if not LIBRARIES[self.library] and self.task is not None:
            raise WrongUsage(f"--task is for an app; --{self.library} names the task itself")
        if self.keep_body and self.own is not None:
            raise WrongUsage(f"--keep-body is for an app of your own: the tasks of {self.own} have no code")
        if self.arguments is not None and not self.keep_body:
            raise WrongUsage("--arguments is for the task's own code: add --keep-body")

    def host_arguments(self) -> Sequence[str]:
        """What the host of the client process (scenarios/plugin/host.py) is given."""
        choice: dict[str, Any] = {
            "place": self.place,
            "task": self.task,
            "workers": self.workers,
            "worker_arguments": self.worker_arguments,
            "claims": self.claims,
            "unscaled": self.unscaled,
            "keep_body": self.keep_body,
            "arguments": self.arguments,
            "tried": TRIED[self.library],
        }
        return [f"tasklab_{self.library}:adapted", str(SHIMS), json.dumps(choice)]

    def options(self) -> str:
        """The options of the command line that say this."""
        stated = [f"--{self.library}", self.place] if self.own is None else ["--system", self.own]
        stated += [] if self.task is None or self.own is not None else ["--task", self.task]
        stated += [] if self.workers == WORKERS else ["--workers", str(self.workers)]
        stated += ["--worker", shlex.join(self.worker_arguments)] if self.worker_arguments else []
        stated += ["--claims", ",".join(self.claims)] if self.claims else []
        stated += ["--unscaled"] if self.unscaled else []
        stated += ["--keep-body"] if self.keep_body else []
        stated += [] if self.arguments is None else ["--arguments", self.arguments]
        return shlex.join(stated)


def own_app(name: str) -> Adapted | None:
    """The lab's own app of a library: `celery` as its documentation recommends it for work that must not be lost, `celery@defaults`.

    None: no name of a library.

    Raises:
        UnknownName: the library is known, and has no such configuration.
    """
    library, at, configuration = name.partition("@")
    if library not in LIBRARIES:
        return None
    attribute = CONFIGURATIONS.get(at + configuration)
    if attribute is None:
        raise UnknownName("system", name, [library + ending for ending in CONFIGURATIONS])
    if LIBRARIES[library]:
        return Adapted(library, f"tasklab_{library}_own:{attribute}", f"{attribute}.charge", own=name)
    return Adapted(library, f"tasklab_{library}_own:{attribute}", own=name)


def untried(library: str, versions: Mapping[str, str]) -> str:
    """That the adapter was never tried with the installed version, as a sentence; "" if it was."""
    installed = versions.get(library, "an unknown version")
    if installed in TRIED[library]:
        return ""
    return f"{library} {installed} was never tried with this adapter, which was tried with {', '.join(TRIED[library])}"


def refused_addresses(logs: Path) -> dict[str, list[str]]:
    """By log, without its ending, the addresses outside of the lab that the process of an app asked for."""
    found: dict[str, list[str]] = {}
    for log in sorted(logs.glob("*.log")):
        with log.open(encoding="utf-8", errors="replace") as lines:
            asked = [line.removeprefix(REFUSED).partition(",")[0] for line in lines if line.startswith(REFUSED)]
        if asked:
            found[log.stem] = list(dict.fromkeys(asked))
    return found


def users_python(directory: Path) -> str:
    """The Python of an app in this directory: that of the active virtual environment, that of `.venv` there, or the lab's."""
    active = os.environ.get("VIRTUAL_ENV")
    for place in ([Path(active)] if active else []) + [directory / ".venv"]:
        python = place / "bin" / "python"
        if python.exists():
            return str(python)
    return sys.executable
