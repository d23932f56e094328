"""tasklab: a reliability test lab for asynchronous task systems. What users touch by name, loaded when first touched."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what a type checker sees of the names below
    from chaos.environment import ProcessSpec as ProcessSpec
    from chaos.environment import ServiceName as ServiceName
    from chaos.environment import Services as Services
    from scenarios.guarantees import Guarantee as Guarantee
    from scenarios.history import Event as Event
    from scenarios.simulated.system import Simulable as Simulable
    from scenarios.simulated.system import Simulation as Simulation
    from scenarios.system import Account as Account
    from scenarios.system import Accountable as Accountable
    from scenarios.system import Addressed as Addressed
    from scenarios.system import Audited as Audited
    from scenarios.system import Bounded as Bounded
    from scenarios.system import Cancel as Cancel
    from scenarios.system import Client as Client
    from scenarios.system import Embeddable as Embeddable
    from scenarios.system import Handlers as Handlers
    from scenarios.system import Operation as Operation
    from scenarios.system import Outcome as Outcome
    from scenarios.system import Pace as Pace
    from scenarios.system import Paced as Paced
    from scenarios.system import Policy as Policy
    from scenarios.system import ReadStatus as ReadStatus
    from scenarios.system import Reserving as Reserving
    from scenarios.system import Submit as Submit
    from scenarios.system import System as System

__version__ = "0.1.0"

_NAMES = {
    "chaos.environment": (
        "ProcessSpec",
        "ServiceName",
        "Services",
    ),
    "scenarios.guarantees": ("Guarantee",),
    "scenarios.history": ("Event",),
    "scenarios.simulated.system": (
        "Simulable",
        "Simulation",
    ),
    "scenarios.system": (
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
