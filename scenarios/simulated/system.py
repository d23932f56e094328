"""What a system provides so that its own code runs in the simulated world. A power beside those of scenarios.contract.system."""

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
    """How many processes of each role, and how many slots a worker has."""

    apis: int = 1
    relays: int = 1
    workers: int = 2
    slots: int = 2
    rescuers: int = 2


MakeProbe = Callable[[str], Probe]
"""Makes the probe of the process of that name."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a system is judged by: its promises, its limits, and how long it may rest although there is something to do.

    `stands_forgotten_queues`: whether its promises hold where a broker that is killed forgets a queue declared just before.
    """

    claims: frozenset[Guarantee]
    policy: Policy
    pace: Pace
    reservations: Mapping[str, frozenset[Guarantee]] = field(default_factory=dict)
    stands_forgotten_queues: bool = True
    capabilities: frozenset[str] = frozenset()

    def claims_under(self, faults: Iterable[str]) -> frozenset[Guarantee]:
        """What the system promises where these faults strike."""
        return self.claims.difference(*(self.reservations.get(fault, frozenset()) for fault in faults))


class Simulation(Protocol):
    """The system's processes on simulated seams."""

    @property
    def words(self) -> ErrorFactory:
        """Makes its own exceptions for failures of services."""

    @property
    def bounds(self) -> Bounds:
        """How long it waits."""

    @property
    def terms(self) -> Terms:
        """What it is judged by."""

    def tables(self) -> Tables:
        """The schema; made once an interpreter."""

    def processes(self, sizes: Sizes, make_probe: MakeProbe) -> Sequence[ProcessPlan]:
        """In the order in which they start. Those with the role `api` answer requests."""

    def serve(self, server: Any, operation: Operation) -> Outcome:
        """What the API, given what its `enter` returned for a server, does with a request. Never raises for what the system did."""

    def account(self, engine: Engine) -> Account:
        """Every task by its current state."""

    def trail(self, engine: Engine, epoch_ns: int) -> Sequence[Event]:
        """Its audit trail, as in scenarios.contract.system.Audited. `epoch_ns`: the time on the database's clock when the world began."""


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


def simulation_of(system: System) -> Simulation:
    """The simulation that the system provides.

    Raises:
        NotApplicable: it provides none.
    """
    if not isinstance(system, Simulable):
        raise NotApplicable(f"{system.name} brings no simulation of itself: see docs/simulator.md")
    return system.simulation()


@runtime_checkable
class Simulable(Protocol):
    """Power: the system can be simulated."""

    def simulation(self) -> Simulation:
        """Its processes on simulated seams."""
