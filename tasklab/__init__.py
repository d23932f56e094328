"""tasklab: a reliability test lab for asynchronous task systems. What users touch by name, loaded when first touched."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what a type checker sees of the names below
    from chaos.environment import ProcessSpec as ProcessSpec
    from chaos.environment import ServiceName as ServiceName
    from chaos.environment import Services as Services
    from scenarios.contract.system import Account as Account
    from scenarios.contract.system import Accountable as Accountable
    from scenarios.contract.system import Addressed as Addressed
    from scenarios.contract.system import Audited as Audited
    from scenarios.contract.system import Bounded as Bounded
    from scenarios.contract.system import Cancel as Cancel
    from scenarios.contract.system import Client as Client
    from scenarios.contract.system import Embeddable as Embeddable
    from scenarios.contract.system import Handlers as Handlers
    from scenarios.contract.system import Operation as Operation
    from scenarios.contract.system import Outcome as Outcome
    from scenarios.contract.system import Pace as Pace
    from scenarios.contract.system import Paced as Paced
    from scenarios.contract.system import Policy as Policy
    from scenarios.contract.system import ReadStatus as ReadStatus
    from scenarios.contract.system import Reserving as Reserving
    from scenarios.contract.system import Submit as Submit
    from scenarios.contract.system import System as System
    from scenarios.judging.guarantees import Guarantee as Guarantee
    from scenarios.record.history import Event as Event
    from scenarios.simulated.system import Simulable as Simulable
    from scenarios.simulated.system import Simulation as Simulation

__version__ = "0.1.0"

_NAMES = {
    "chaos.environment": (
        "ProcessSpec",
        "ServiceName",
        "Services",
    ),
    "scenarios.judging.guarantees": ("Guarantee",),
    "scenarios.record.history": ("Event",),
    "scenarios.simulated.system": (
        "Simulable",
        "Simulation",
    ),
    "scenarios.contract.system": (
        "Account",
        "Accountable",
        "Addressed",
        "Audited",
        "Bounded",
        "Cancel",
        "Client",
        "Embeddable",
        "Handlers",
        "Operation",
        "Outcome",
        "Pace",
        "Paced",
        "Policy",
        "ReadStatus",
        "Reserving",
        "Submit",
        "System",
    ),
}
"""By the module that they live in."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tasklab' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
