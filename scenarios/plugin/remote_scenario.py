"""A scenario of the user, read in a client process: the lab receives its data and never imports its module."""

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from chaos.faults import FAULTS
from scenarios.errors import WrongUsage
from scenarios.experiment import scenario as scenario_module
from scenarios.experiment.scenario import Scenario
from scenarios.experiment.triggers import TRIGGERS
from scenarios.plugin.process import ClientProcess, ErrorAnswer
from scenarios.plugin.protocol import DEADLINES_S, FindScenario, StatedScenario
from scenarios.plugin.statements import known_promises

CLASS = "is"
"""The field that names the class of an object in a message."""


def remote_scenario(argv: Sequence[str], name: str, *, directory: Path) -> Scenario:
    """The scenario that `name` (package.module:attribute) names in the client process that `argv` starts.

    Raises:
        WrongUsage: there is none, or it holds an object that a scenario cannot hold.
        UnknownName: it names an unknown promise.
        PluginLost: the process hangs or ends.
    """
    process = ClientProcess(argv, directory=directory, deadlines_s=DEADLINES_S)
    try:
        stated = msgspec.json.decode(process.ask(FindScenario(name=name)), type=StatedScenario)
    except ErrorAnswer as error:
        raise WrongUsage(error.message if error.kind == "not_found" else f"{name}: {error.message}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WrongUsage(f"{name}: the client process did not answer with a scenario: {error}") from error
    finally:
        process.close()
    scenario = _made(name, stated.scenario)
    if not isinstance(scenario, Scenario):
        raise WrongUsage(f"{name} is not a scenario (its form is in docs/protocol.md)")
    return replace(scenario, at_stake=known_promises(scenario.at_stake))


_CLASSES: Mapping[str, type[Any]] = MappingProxyType(
    {
        **{name: kind for name, kind in vars(scenario_module).items() if isinstance(kind, type) and is_dataclass(kind)},
        **TRIGGERS,
        **{kind.__name__: kind for kind in FAULTS.values()},
    }
)
"""The data classes of which a scenario consists, by name."""


def _made(name: str, value: Any) -> Any:
    """The value, with every object in it converted to its class."""
    if isinstance(value, list):
        return tuple(_made(name, item) for item in value)
    if not isinstance(value, dict):
        return value
    content = {field: _made(name, item) for field, item in value.items() if field != CLASS}
    if CLASS not in value:
        return content
    kind = _CLASSES.get(str(value[CLASS]))
    if kind is None:
        raise WrongUsage(f"{name} holds a {str(value[CLASS])[:80]!r}, which a scenario cannot hold")
    try:
        return kind(**content)
    except (TypeError, ValueError) as error:
        raise WrongUsage(f"{name} holds an invalid {kind.__name__}: {error}") from error
