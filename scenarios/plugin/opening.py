"""Opens systems and scenarios by name. The user's code runs in client processes; the lab does not import it.

The lab's own systems, the mutants and every system that the simulator runs stay in the lab's process (scenarios.lookup).
"""

import importlib.metadata
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from scenarios.adapters.adapted import TRIED, Adapted, users_python
from scenarios.contract.system import System
from scenarios.errors import PluginLost, WrongUsage
from scenarios.experiment.scenario import Scenario
from scenarios.lookup import SYSTEMS_GROUP, find_scenario, find_system, is_own
from scenarios.plugin import host
from scenarios.plugin.protocol import DEADLINES_S
from scenarios.plugin.remote_scenario import remote_scenario
from scenarios.plugin.remote_system import RemoteSystem, remote_system


def open_system(
    named: str | Adapted,
    *,
    python: Path | None = None,
    timeout_s: float | None = None,
    directory: Path | None = None,
) -> System:
    """The system of that name: an installed one, `package.module:attribute`, or (with a `/` in the name) a program; or an adapted app.

    `python`: the interpreter that loads the plug-in; None: the lab's, for an app that of its virtual environment. `timeout_s`: maximum
    time for each answer; None: the deadlines of the protocol. `directory`: where its client process and its processes start, and from
    where programs are found; None: the present one.

    Raises:
        UnknownName: there is no such system, or it states an unknown name.
        WrongUsage: the name is not that of a system, or the system states an invalid value.
        PluginLost: the client process hangs, ends, or violates the protocol; of an app: WrongUsage.
    """
    deadlines_s, directory = deadlines_of(timeout_s), Path.cwd() if directory is None else directory
    if isinstance(named, Adapted):
        return _adapted_system(named, python, deadlines_s, directory)
    if "/" in named:
        return remote_system([str(program_at(named, directory))], named, directory=directory, deadlines_s=deadlines_s)
    address = _address_of(named)
    if address is None or is_own(address):
        return find_system(named)
    interpreter = sys.executable if python is None else str(program_at(str(python), Path.cwd()))
    return remote_system([interpreter, host.__file__, address], address, directory=directory, deadlines_s=deadlines_s)


def deadlines_of(timeout_s: float | None) -> Mapping[str, float]:
    """By request, the maximum time for its answer: that of the protocol, or this one for all."""
    return DEADLINES_S if timeout_s is None else dict.fromkeys(DEADLINES_S, timeout_s)


def _adapted_system(
    app: Adapted, python: Path | None, deadlines_s: Mapping[str, float], directory: Path
) -> RemoteSystem:
    interpreter = users_python(directory) if python is None else str(program_at(str(python), Path.cwd()))
    argv = [interpreter, host.__file__, *app.host_arguments()]
    try:
        return remote_system(argv, app.place, directory=directory, deadlines_s=deadlines_s)
    except WrongUsage as error:
        address = f"{app.host_arguments()[0]}: "
        if not str(error).startswith(address):
            raise
        if f"No module named '{app.library}'" not in str(error):
            tried = ", ".join(TRIED[app.library])
            why = str(error).removeprefix(address)
            raise WrongUsage(
                f"the {app.library} of {interpreter} cannot be read ({why}); the adapter was tried with {tried}"
            ) from error
        raise WrongUsage(
            f"{interpreter} has no {app.library}: activate the virtual environment of your app, or name its Python with --python"
        ) from error
    except PluginLost as lost:
        why = str(lost).replace("the plug-in's process", "its process").replace("the plug-in", "it")
        raise WrongUsage(
            f"{app.place} cannot be read ({why}): look at what its module does when it is imported (--plugin-timeout gives it longer)"
        ) from lost


def open_scenario(name: str, *, directory: Path | None = None) -> Scenario:
    """The scenario of the catalogue, or the one at `package.module:attribute`, which is read in a client process.

    `directory`: from where its module is imported; None: the present one.

    Raises:
        UnknownName: there is none in the catalogue, or it names an unknown promise.
        WrongUsage: there is no scenario at package.module:attribute.
        PluginLost: the client process hangs or ends.
    """
    if ":" not in name:
        return find_scenario(name)
    return remote_scenario([sys.executable, host.__file__, name], name, directory=directory or Path.cwd())


def _address_of(name: str) -> str | None:
    """`package.module:attribute` of a system of that name, or None."""
    if ":" in name:
        return name
    points = importlib.metadata.entry_points(group=SYSTEMS_GROUP)
    return next((point.value for point in points if point.name == name), None)


def program_at(name: str, directory: Path) -> Path:
    """The program at that path, or of that name on PATH. Links are kept: the Python of a virtual environment is a link."""
    found = shutil.which(str(directory / name) if "/" in name else name)
    if found is None:
        raise WrongUsage(f"{name} is not a program that can be started")
    return Path.cwd() / found
