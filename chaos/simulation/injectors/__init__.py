"""How each fault is done in a simulated world. One fault a file, of the same name as its injector for real worlds in `chaos.injectors`.

Each module has a function `inject(fault, world, chance)`.
"""

from importlib import import_module
from importlib.util import find_spec
from random import Random

from chaos.errors import ChaosError
from chaos.faults import Fault
from chaos.injection import Injection
from chaos.simulation.injectors.steps import SimulatedInjection
from chaos.simulation.world import World


def can(fault: Fault) -> str:
    """Why no simulated world can do this fault, in one sentence; "" if it can."""
    if find_spec(f"{__name__}.{fault.injector}") is None:
        return f"a simulated world cannot do {fault.name}: there is no chaos/simulation/injectors/{fault.injector}.py"
    return fault.flaw()


def injection(fault: Fault, world: World, chance: Random) -> Injection:
    """The fault, ready to begin, in this world; its blocking calls block the calling fiber.

    `chance` decides what the fault does not specify: what a killed broker loses, how long a failover takes.

    Raises:
        FaultDidNotBite: there is no target now: its process is already dead, for example.
        ChaosError: the world has no such process or service, or cannot do the fault.
    """
    if why := can(fault):
        raise ChaosError(why)
    made: SimulatedInjection = import_module(f"{__name__}.{fault.injector}").inject(fault, world, chance)
    made.check()
    return made
