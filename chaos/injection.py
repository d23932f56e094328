"""The life of one fault: begun, bitten, ended, healed. The same Protocol in every world, real or simulated."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """A message that a fault struck: its body as text, and its identifying properties.
    `properties`: `message_id` and `correlation_id` by these names, each header by its own name. `is_cut`: the body is truncated or
    missing, because it was too long or too many bodies were kept.
    """

    body: str
    properties: tuple[tuple[str, str], ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was observed of a bite: a sentence for people, and the struck messages, for matching them to tasks.

    `words` quotes no body, because a body may hold a secret. `at_ns`: the instant at which the fault took effect, if the injector
    knows it better than the caller: on the machine's monotonic clock, in a simulated world on the world's clock. `is_clean`: the
    process ended by itself, as it was told to, and nothing of it was left.
    """

    words: str
    messages: tuple[Message, ...] = ()
    at_ns: int | None = None
    is_clean: bool = False


@dataclass(frozen=True, slots=True)
class Interruption:
    """The end of a connection of `process` to the broker, with the messages that it had received and not settled.

    The broker delivers them again; the process, if it lives, may still run them. `at_ns`: on the machine's monotonic clock.
    """

    process: str
    at_ns: int
    messages: tuple[Message, ...]


class Injection(Protocol):
    """A fault against one target. Every step is proven or raises. Blocking calls block only the calling thread or fiber."""

    target: str

    def begin(self) -> None:
        """Start the fault, or arm it if it waits for traffic.

        Raises:
            FaultDidNotBite: there is no target now: its process is already dead, for example.
        """

    def await_bite(self, timeout_s: float) -> Evidence:
        """Block until the fault has visibly taken effect. May be called again after it raised.

        Raises:
            FaultDidNotBite: it had no visible effect in time.
        """

    def end(self) -> None:
        """Lift the fault. Idempotent; safe to call when it never began."""

    def await_healed(self, timeout_s: float) -> None:
        """Block until a round trip of the lab shows that the target is healthy.

        Raises:
            FaultDidNotHeal: no successful round trip in time.
        """
