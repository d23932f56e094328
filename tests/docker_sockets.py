"""Docker's SDK forgets to close a socket that finds no daemon: collected here, in silence, instead of as a warning in some later test."""

import gc
import warnings


def collect_unconnected() -> None:
    """To be called when nothing refers to the SDK's exception any more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
