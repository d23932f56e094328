"""A degraded line from a simulated process to a service; `DegradeNetwork` says what each kind and value mean."""

from random import Random

from chaos.errors import ChaosError
from chaos.faults import DegradeNetwork
from chaos.simulation.injectors.steps import SimulatedInjection, process_of
from chaos.simulation.kernel.clock import ns
from chaos.simulation.network.degradations import Degradation
from chaos.simulation.world import SimulatedProcess, World

NS_PER_BYTE_AT_1_KB_S = 1_000_000.0


class SimulatedNetworkDegradation(SimulatedInjection):
    """One degradation of one line; others on the same line stay active when it is lifted."""

    def __init__(self, fault: DegradeNetwork, process: SimulatedProcess, world: World) -> None:
        super().__init__(fault, f"{process.name}→{fault.service}", world)
        self._kind = fault.kind
        self._service = fault.service
        self._process = process
        self._line = process.lines[fault.service]
        self._degradation = degradation(fault.kind, fault.value)

    def _obstacle(self) -> str:
        return "" if self._process.is_alive() else "its process is dead"

    def _strike(self) -> None:
        if self._degradation.refuses:
            self._world.cut(self._process, self._service)
        self._line.degrade(self._degradation)

    def _words(self) -> str:
        return f"{self._kind} on {self.target}"

    def _lift(self) -> None:
        self._line.restore(self._degradation)


def degradation(kind: str, value: float) -> Degradation:
    """The effect of a kind and its value on a line; the kind is one of `DegradeNetwork.KINDS`."""
    return {
        "delay": Degradation(delay_ns=ns(value / 1000)),
        "slow": Degradation(ns_per_byte=NS_PER_BYTE_AT_1_KB_S / value if value else 0.0),
        "reset": Degradation(reset_after_ns=ns(value / 1000)),
        "blackhole": Degradation(blocks=True),
        "refuse": Degradation(refuses=True),
    }[kind]


def inject(fault: DegradeNetwork, world: World, chance: Random) -> SimulatedNetworkDegradation:
    """The injection of one such fault."""
    process = process_of(world, fault.process)
    if fault.service not in process.lines:
        raise ChaosError(f"no line leads to {fault.service!r}; there are lines to {', '.join(sorted(process.lines))}")
    return SimulatedNetworkDegradation(fault, process, world)
