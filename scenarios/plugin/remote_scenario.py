"""A scenario of the user's own, read in a client process: its module is never imported by the lab. Data goes over the wire."""

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from chaos.faults import FAULTS
from scenarios.errors import WrongUsage
from scenarios.experiment import scenario as words
from scenarios.experiment.scenario import Scenario
from scenarios.experiment.triggers import TRIGGERS
from scenarios.plugin.process import ClientProcess, Unanswered
from scenarios.plugin.protocol import DEADLINES_S, FindScenario, StatedScenario
from scenarios.plugin.statements import known_promises

CLASS = "is"
"""The field of an object on the wire that names its class."""


def remote_scenario(argv: Sequence[str], name: str, *, directory: Path) -> Scenario:
    """The scenario that `name` (package.module:attribute) names in the client process that `argv` starts.

    Raises:
        WrongUsage: there is none, or it holds something that a scenario cannot.
        UnknownName: a promise that does not exist.
        PluginLost: the process hangs or ends.
    """
    process = ClientProcess(argv, directory=directory, deadlines_s=DEADLINES_S)
    try:
        stated = msgspec.json.decode(process.ask(FindScenario(name=name)), type=StatedScenario)
    except Unanswered as error:
        raise WrongUsage(error.message if error.kind == "not_found" else f"{name}: {error.message}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WrongUsage(f"{name}: the client process gave no scenario: {error}") from error
    finally:
        process.close()
    scenario = _made(name, stated.scenario)
    if not isinstance(scenario, Scenario):
        raise WrongUsage(f"{name} is no scenario: docs/protocol.md says what one looks like")
    return replace(scenario, at_stake=known_promises(scenario.at_stake))


_WORDS: Mapping[str, type[Any]] = MappingProxyType(
    {
        **{name: kind for name, kind in vars(words).items() if isinstance(kind, type) and is_dataclass(kind)},
        **TRIGGERS,
        **{kind.__name__: kind for kind in FAULTS.values()},
    }
)
"""The data classes that a scenario is made of, by name."""


def _made(name: str, value: Any) -> Any:
    """The value with every object in it made from its class."""
    if isinstance(value, list):
        return tuple(_made(name, item) for item in value)
    if not isinstance(value, dict):
        return value
    content = {field: _made(name, item) for field, item in value.items() if field != CLASS}
    if CLASS not in value:
        return content
    kind = _WORDS.get(str(value[CLASS]))
    if kind is None:
        raise WrongUsage(f"{name} holds a {str(value[CLASS])[:80]!r}, which no scenario can hold")
    try:
        return kind(**content)
    except (TypeError, ValueError) as error:
        raise WrongUsage(f"{name} holds a {kind.__name__} that is none: {error}") from error
