"""The protocol by which a system's own code runs in the simulated world: a power beside those of scenarios.contract.system."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import msgspec
from sqlalchemy import Engine

from chaos.simulation.database.statements import Tables
from chaos.simulation.world import Bounds, ErrorFactory, ProcessPlan
from scenarios.contract.probe import Probe
from scenarios.contract.system import Account, Operation, Outcome, Pace, System
from scenarios.errors import NotApplicable, UnknownName
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import Policy
from scenarios.record.history import Event


class Sizes(msgspec.Struct, frozen=True, omit_defaults=True):
    """Number of processes of each role, and of slots of a worker."""

    apis: int = 1
    relays: int = 1
    workers: int = 2
    slots: int = 2
    rescuers: int = 2


MakeProbe = Callable[[str], Probe]
"""Makes the probe of the process of that name."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a system is judged by: its promises, its limits, and its pace.

    `stands_forgotten_queues`: whether its promises hold when a killed broker forgets a queue declared just before.
    """

    claims: frozenset[Guarantee]
    policy: Policy
    pace: Pace
    reservations: Mapping[str, frozenset[Guarantee]] = field(default_factory=dict)
    stands_forgotten_queues: bool = True
    capabilities: frozenset[str] = frozenset()

    def claims_under(self, faults: Iterable[str]) -> frozenset[Guarantee]:
        """The promises of the system under these faults."""
        return self.claims.difference(*(self.reservations.get(fault, frozenset()) for fault in faults))


class Simulation(Protocol):
    """The system's processes on simulated ports."""

    @property
    def errors(self) -> ErrorFactory:
        """Makes the system's exceptions for failures of services."""

    @property
    def bounds(self) -> Bounds:
        """Its time-outs and pool size."""

    @property
    def terms(self) -> Terms:
        """Its claims, policy and pace."""

    def tables(self) -> Tables:
        """The schema; made once for each interpreter."""

    def processes(self, sizes: Sizes, make_probe: MakeProbe) -> Sequence[ProcessPlan]:
        """The processes, in the order of their start. Those with the role `api` answer requests."""

    def serve(self, server: Any, operation: Operation) -> Outcome:
        """Serve a request by the API; `server` is the object from its `enter`. Never raises for an error of the system."""

    def account(self, engine: Engine) -> Account:
        """Every task by its current state."""

    def trail(self, engine: Engine, epoch_ns: int) -> Sequence[Event]:
        """Its audit trail, as in scenarios.contract.system.Audited. `epoch_ns`: the database's clock at the start of the world."""


NETS: Mapping[str, str] = {
    "sweep": "the system does not enqueue again what was not delivered",
    "redelivery": "the broker drops a message that comes back unacknowledged",
    "fence": "the outside resource accepts requests with an old fence",
    "cache": "the cache answers nothing but locks",
    "lock": "everybody gets the lock, each time with a new fence",
}
"""Safety nets that can be off in a world, one at a time, so that it cannot hide what the other layers lack."""


@runtime_checkable
class Layered(Protocol):
    """A simulation whose system has several safety nets, and says what it still promises where one of them is off."""

    def without(self, net: str) -> Simulation:
        """The same system where this one of `NETS` is off; its terms claim what does not rest on that net."""


def without(simulation: Simulation, net: str) -> Simulation:
    """The simulation where that net is off; itself if none is named.

    Raises:
        UnknownName: there is no such net.
        NotApplicable: the system does not say what it promises without one.
    """
    if not net:
        return simulation
    if net not in NETS:
        raise UnknownName("safety net", net, NETS)
    if not isinstance(simulation, Layered):
        raise NotApplicable("this system does not say what it promises without a safety net: see docs/simulator.md")
    return simulation.without(net)


@runtime_checkable
class ComesToRest(Protocol):
    """A simulation whose system has work of its own besides tasks, and finishes it when no task is left."""

    def tidying(self) -> Simulation:
        """The same system, set to finish that work soon."""

    @property
    def rests_within_s(self) -> float:
        """How long that takes at most, after every fault is over and every task has ended."""

    def work_left(self, engine: Engine) -> Sequence[str]:
        """The work that is left, a clause each; none: the system is at rest."""


def simulation_of(system: System) -> Simulation:
    """The simulation that the system provides.

    Raises:
        NotApplicable: it provides none.
    """
    if not isinstance(system, Simulable):
        raise NotApplicable(f"{system.name} provides no simulation: see docs/simulator.md")
    return system.simulation()


@runtime_checkable
class Simulable(Protocol):
    """Power: the system can be simulated."""

    def simulation(self) -> Simulation:
        """Its processes on simulated ports."""
