"""The module path of the lab's own process: the lab's modules first, those of the user's directory last.

Imports only modules that are loaded at Python's start: until the path is corrected, a file of the user could be imported instead.
"""

import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The directory that holds `tasklab`: site-packages, or the repository."""


def remove_current_directory() -> None:
    """Remove the current directory from the path, where `python -m` and `PYTHONPATH=.` put it before the standard library.

    In a clone the lab's packages are at the top and have common names, so their directory comes first.
    """
    home = _real(HOME)
    user = {_here()} - {home}
    entries = [entry for entry in sys.path if _real(entry) not in user]
    if not _is_installed():
        entries = [HOME, *(entry for entry in entries if _real(entry) != home)]
    sys.path[:] = entries


def append_current_directory() -> None:
    """Append the current directory: a plug-in is found there, and hides no module of the lab or of Python."""
    if _here() not in map(_real, sys.path):
        sys.path.append(_here())


def _is_installed() -> bool:
    """Whether this is a wheel, in which the lab's packages are below `tasklab` (.ci/wheel_layout.py)."""
    return os.path.isdir(os.path.join(HOME, "tasklab", "_lab"))


def _here() -> str:
    return os.path.realpath(os.curdir)


def _real(entry: str) -> str:
    return os.path.realpath(entry or os.curdir)
