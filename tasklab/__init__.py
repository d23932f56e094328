"""tasklab: a reliability test lab for asynchronous task systems. The public names are those of `tasklab.names`."""

import importlib

# Type checkers treat this as true. `typing` is not imported: `python -m tasklab` would search the current directory for it first.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tasklab.names import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module 'tasklab' has no attribute {name!r}")
    public = vars(importlib.import_module("tasklab.names"))
    if name == "__all__":
        return ["__version__", *(known for known in public if known.isidentifier() and not known.startswith("_"))]
    if name not in public:
        raise AttributeError(f"module 'tasklab' has no attribute {name!r}")
    found: object = public[name]
    return found
