"""Where modules are looked for in the lab's own process: the lab's first, those of the user's directory last.

Imports only what is loaded when Python starts: until the path is in order, a file of the user could be imported instead.
"""

import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The directory that holds `tasklab`: site-packages, or the repository."""


def keep_user_out() -> None:
    """Take the current directory off the path, where `python -m` and `PYTHONPATH=.` put it before the standard library.

    In a clone the lab's packages stand at the top and have common names, so their directory comes first.
    """
    home = _real(HOME)
    user = {_here()} - {home}
    entries = [entry for entry in sys.path if _real(entry) not in user]
    if not _is_installed():
        entries = [HOME, *(entry for entry in entries if _real(entry) != home)]
    sys.path[:] = entries


def let_plugins_in() -> None:
    """Add the current directory as the last place: a plug-in is found there, and hides no module of the lab or of Python."""
    if _here() not in map(_real, sys.path):
        sys.path.append(_here())


def _is_installed() -> bool:
    """Whether this is a wheel: in one the lab's packages lie below `tasklab` (.ci/wheel_layout.py)."""
    return os.path.isdir(os.path.join(HOME, "tasklab", "_lab"))


def _here() -> str:
    return os.path.realpath(os.curdir)


def _real(entry: str) -> str:
    return os.path.realpath(entry or os.curdir)
