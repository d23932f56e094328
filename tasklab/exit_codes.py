"""The end of a command: its exit code, and errors in one sentence."""

import errno
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from scenarios.judging.verdict import EXIT_BROKEN as EXIT_BROKEN
from scenarios.judging.verdict import EXIT_HELD as EXIT_HELD
from scenarios.judging.verdict import EXIT_UNKNOWN as EXIT_UNKNOWN

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
"""A campaign ended early: Ctrl-C, or the reader of its output has gone. A broken promise found by then takes precedence."""


NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
"""Errors of a full or unwritable disk: neither the lab, the system nor the user's request is wrong."""


class UnexpectedError(Exception):
    """An EOFError or OSError that no code handles: a bug of the lab or of a plug-in."""


def worst(codes: Iterable[int]) -> int:
    """The exit code of several runs together: broken before unknown before held; unknown if there are none."""
    found = set(codes)
    for code in (EXIT_BROKEN, EXIT_UNKNOWN, EXIT_HELD):
        if code in found:
            return code
    return EXIT_UNKNOWN


def no_room(error: OSError) -> str:
    """The sentence for one of the errors `NO_ROOM`."""
    place = f" {error.filename}" if error.filename else " the output"
    return f"unknown: the disk is full or cannot be written:{place}: {str(error.strerror).lower()}"


@contextmanager
def explained() -> Iterator[None]:
    """Turns a mistake of the caller into one sentence and exit code 2, a failure of the lab into exit code 3.

    Only a verdict gives the exit codes 0 and 1, so a plug-in's `sys.exit()` is a failure too. An `EOFError` or `OSError` is raised
    again as `UnexpectedError`: Typer would end with 1, which means a broken promise.
    """
    from chaos.errors import ChaosError
    from scenarios.errors import ScenarioError, WrongUsage

    try:
        yield
    except WrongUsage as error:
        fail(str(error), EXIT_USAGE)
    except (ChaosError, ScenarioError) as error:
        fail(f"unknown: {error}", EXIT_UNKNOWN)
    except SystemExit as error:
        fail(f"unknown: the plug-in ended the lab's process: SystemExit({error.code!r})", EXIT_UNKNOWN)
    except OSError as error:
        if error.errno in NO_ROOM:
            fail(no_room(error), EXIT_UNKNOWN)
        raise UnexpectedError(f"{type(error).__name__}: {error}") from error
    except EOFError as error:
        raise UnexpectedError(f"{type(error).__name__}: {error}") from error
    except KeyboardInterrupt:
        print("tasklab: interrupted; all started processes have been ended", file=sys.stderr)
        raise


def fail(why: str, code: int) -> NoReturn:
    """End with one sentence on standard error."""
    warn(why)
    raise typer.Exit(code)


def warn(why: str) -> None:
    """One sentence on standard error."""
    from reports.embedding import visible

    print(f"tasklab: {visible(why)}", file=sys.stderr)
