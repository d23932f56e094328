"""The runtime: the first argument of every loop."""

from dataclasses import dataclass

from reference_impl.extensions import Observer
from reference_impl.ports import Clock, Entropy, Shutdown


@dataclass(frozen=True, slots=True)
class Runtime:
    """Name, time, randomness, shutdown request and observer of one process."""

    name: str
    clock: Clock
    entropy: Entropy
    shutdown: Shutdown
    observer: Observer
