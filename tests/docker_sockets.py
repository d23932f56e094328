"""Docker's SDK forgets to close a socket that finds no daemon: collected here, in silence, instead of as a warning in some later test."""

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected before the end of the block, whatever pytest does meanwhile; then it is, in silence."""
    gc.disable()
    try:
        yield
    finally:
        collect_unconnected()
        gc.enable()


def collect_unconnected() -> None:
    """To be called when nothing refers to the SDK's exception any more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
