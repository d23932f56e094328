"""Environments that run services of their own, as the tests make them and see what is left of them."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.environments.serving import ServingEnvironment


@dataclass(frozen=True, slots=True)
class Serving:
    """One kind of them.

    `shared`: one for all tests. `make`: another. `source`: Python that makes `lab`, for a lab in a process of its own.
    `find_left`: what is left of the environment that had this directory.
    """

    shared: ServingEnvironment
    make: Callable[..., ServingEnvironment]
    source: str
    find_left: Callable[[Path], list[str]]


@contextmanager
def lab_of_its_own(source: str) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """A lab in a process of its own, its services up, with its directory; it ends when it is signalled, at the latest here."""
    script = f"import sys\n{source}\nwith lab:\n    print(lab.directory, flush=True); sys.stdin.read()"
    lab = subprocess.Popen(
        [sys.executable, "-c", script],
        text=True,
        process_group=0,
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert lab.stdout is not None
    assert lab.stdin is not None
    try:
        yield lab, Path(lab.stdout.readline().strip())
    finally:
        lab.stdin.close()
        lab.wait()
        lab.stdout.close()
