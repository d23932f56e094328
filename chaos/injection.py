"""The life of one fault: begun, bitten, ended, healed. The same Protocol in every world, real or simulated."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """A message that a fault struck: its body as text, and its identifying properties.

    `properties`: `message_id` and `correlation_id` by these names, each header by its own name. `is_cut`: the body was too long to be
    kept whole, or is missing because too many were kept.
    """

    body: str
    properties: tuple[tuple[str, str], ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of a bite: in words for people, and the messages that were struck, for matching them to tasks.

    `words` quote no body: it may hold a secret. `interrupted`: messages that were delivered and not settled on a connection that the
    fault cut; the broker delivers them again. `at_ns`: the instant at which the fault took effect, where the injector knows it
    better than the caller: on the monotonic clock of this machine, or in a simulated world on its own clock.
    """

    words: str
    messages: tuple[Message, ...] = ()
    at_ns: int | None = None
    interrupted: tuple[Message, ...] = ()


class Injection(Protocol):
    """A fault against one target. Every step is proven or raises; blocking calls block the calling thread, or fiber, of that world."""

    target: str

    def begin(self) -> None:
        """Ask for the fault: at once, or (for a fault that waits for traffic) arm it.

        Raises:
            FaultDidNotBite: there is nothing to strike now, such as a process that is already dead.
        """

    def await_bite(self, timeout_s: float) -> Evidence:
        """Block until the fault is seen to have taken effect. May be called again after it raised.

        Raises:
            FaultDidNotBite: nothing was seen in time.
        """

    def end(self) -> None:
        """Lift the fault. Idempotent; safe to call when it never began."""

    def await_healed(self, timeout_s: float) -> None:
        """Block until the target is seen healthy by a round trip of the lab's own.

        Raises:
            FaultDidNotHeal: it is not, in time.
        """
