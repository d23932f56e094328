"""tasklab: a reliability test lab for asynchronous task systems. What users touch by name, loaded when first touched."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.environment import ProcessSpec, Services
    from scenarios.guarantees import Guarantee
    from scenarios.system import (
        Account,
        Accountable,
        Audited,
        Bounded,
        Cancel,
        Client,
        Embeddable,
        Handlers,
        Outcome,
        Policy,
        ReadStatus,
        Submit,
        System,
    )

__version__ = "0.1.0"

_HOMES = {
    "Account": "scenarios.system",
    "Accountable": "scenarios.system",
    "Audited": "scenarios.system",
    "Bounded": "scenarios.system",
    "Cancel": "scenarios.system",
    "Client": "scenarios.system",
    "Embeddable": "scenarios.system",
    "Guarantee": "scenarios.guarantees",
    "Handlers": "scenarios.system",
    "Outcome": "scenarios.system",
    "Policy": "scenarios.system",
    "ProcessSpec": "chaos.environment",
    "ReadStatus": "scenarios.system",
    "Services": "chaos.environment",
    "Submit": "scenarios.system",
    "System": "scenarios.system",
}

__all__ = [
    "Account",
    "Accountable",
    "Audited",
    "Bounded",
    "Cancel",
    "Client",
    "Embeddable",
    "Guarantee",
    "Handlers",
    "Outcome",
    "Policy",
    "ProcessSpec",
    "ReadStatus",
    "Services",
    "Submit",
    "System",
    "__version__",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tasklab' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
