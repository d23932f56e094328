"""Systems and scenarios by name, with the user's code in client processes: the lab imports none of it.

The lab's own systems, and the mutants, stay in its process (scenarios.lookup), and so does any system that the simulator runs.
"""

import importlib.metadata
import shutil
import sys
from pathlib import Path

from scenarios.contract.system import System
from scenarios.errors import WrongUsage
from scenarios.experiment.scenario import Scenario
from scenarios.lookup import SYSTEMS_GROUP, find_scenario, find_system, is_own
from scenarios.plugin import host
from scenarios.plugin.protocol import DEADLINES_S
from scenarios.plugin.remote_scenario import remote_scenario
from scenarios.plugin.remote_system import remote_system


def open_system(name: str, *, python: Path | None = None, timeout_s: float | None = None) -> System:
    """The system of that name: installed, at `package.module:attribute`, or, where there is a `/` in it, of a program.

    `python`: the interpreter that loads the plug-in, where it is not the lab's. `timeout_s`: how long each answer may take, where the
    deadlines of the protocol are not meant.

    Raises:
        UnknownName: there is none, or it states a name that does not exist.
        WrongUsage: the name leads to no system, or the system states something that cannot be.
        PluginLost: the client process hangs, ends, or does not speak the protocol.
    """
    deadlines_s = DEADLINES_S if timeout_s is None else dict.fromkeys(DEADLINES_S, timeout_s)
    if "/" in name:
        return remote_system([str(_program(name))], directory=Path.cwd(), deadlines_s=deadlines_s)
    address = _address_of(name)
    if address is None or is_own(address):
        return find_system(name)
    interpreter = sys.executable if python is None else str(_program(str(python)))
    return remote_system([interpreter, host.__file__, address], directory=Path.cwd(), deadlines_s=deadlines_s)


def open_scenario(name: str) -> Scenario:
    """The scenario of the catalogue, or the one at `package.module:attribute`, read in a client process.

    Raises:
        UnknownName: there is none in the catalogue, or it puts a promise at stake that does not exist.
        WrongUsage: there is no scenario at package.module:attribute.
        PluginLost: the client process hangs or ends.
    """
    if ":" not in name:
        return find_scenario(name)
    return remote_scenario([sys.executable, host.__file__, name], name, directory=Path.cwd())


def _address_of(name: str) -> str | None:
    """`package.module:attribute` of a system of that name, or None."""
    if ":" in name:
        return name
    points = importlib.metadata.entry_points(group=SYSTEMS_GROUP)
    return next((point.value for point in points if point.name == name), None)


def _program(name: str) -> Path:
    """The program of that path, or of that name on PATH; not resolved further: the Python of a virtual environment is a link."""
    found = shutil.which(name)
    if found is None:
        raise WrongUsage(f"{name} is not a program that can be started")
    return Path.cwd() / found
