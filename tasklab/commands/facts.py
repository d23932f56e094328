"""`tasklab facts`: what the lab reads of an app, and what follows for the promises."""

from typing import TYPE_CHECKING, Annotated

import typer

from tasklab.commands.chosen_system import APP_OPTIONS, ChosenSystem
from tasklab.commands.plugin_options import with_system
from tasklab.exit_codes import explained
from tasklab.presentation.terminal import print_json

if TYPE_CHECKING:
    from scenarios.contract.system import System


@with_system
def facts(
    chosen: ChosenSystem,
    as_json: Annotated[bool, typer.Option("--json", help="One document on standard output.")] = False,
) -> None:
    """Print the settings of your app that are in effect, where each was read, and what follows for a test.

    Nothing is started and nothing is connected. Long waits of the library are shortened in the lab by its own settings; both values
    are shown.

    Example: tasklab facts --dramatiq shop.tasks:charge
    """
    with explained():
        from scenarios.errors import WrongUsage

        if not chosen.is_adapted:
            raise WrongUsage(f"facts are read from an app: name it with {' or '.join(APP_OPTIONS)}")
        system = chosen.open()
    document = _document(system)
    if as_json:
        print_json(document)
    else:
        from tasklab.presentation.facts import print_facts

        print_facts(document)


def _document(system: "System") -> dict[str, object]:
    import msgspec

    from scenarios.adapters.adapted import untried
    from scenarios.contract.system import pace_of, policy_of
    from scenarios.plugin.remote_system import RemoteSystem

    assert isinstance(system, RemoteSystem), "an app is read in a client process"
    return {
        "system": system.name,
        "versions": dict(system.versions),
        "untried": untried(system.name, system.versions),
        "facts": msgspec.to_builtins(system.facts),
        "claims": sorted(system.claims),
        "needs": sorted(system.needs),
        "pace": {name: value for name, value in msgspec.to_builtins(pace_of(system)).items() if value is not None},
        "policy": {name: value for name, value in msgspec.to_builtins(policy_of(system)).items() if value is not None},
    }
