"""Messages are published and taken for delivered, without waiting for the broker's word: what it loses is lost."""

from collections.abc import Sequence
from dataclasses import replace

from reference_impl.bootstrap import Parts
from reference_impl.loops.relay import Relay
from reference_impl.ports import Message, Publisher, PublishOutcome
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant


class _TrustingPublisher:
    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    def publish(self, messages: Sequence[Message], *, timeout_s: float) -> Sequence[PublishOutcome]:
        """See reference_impl.ports.Publisher."""
        self._publisher.publish(messages, timeout_s=timeout_s)
        return [PublishOutcome.CONFIRMED] * len(messages)

    def close(self) -> None:
        """See reference_impl.ports.Publisher."""
        self._publisher.close()


class RelayThatTrusts(Relay):
    """Takes everything for confirmed that it could send."""

    __slots__ = ()

    def publish_batch(self, publisher: Publisher) -> int:
        """See reference_impl.loops.relay.Relay."""
        return super().publish_batch(_TrustingPublisher(publisher))


def alter(parts: Parts) -> Parts:
    """With that relay."""
    return replace(parts, kinds=replace(parts.kinds, relay=RelayThatTrusts))


system = Mutant(
    name="publish_without_confirm",
    defect="messages are taken for delivered without the broker's confirm",
    expected=(Guarantee.NO_STUCK_TASK, Guarantee.OUTBOX_ATOMIC),
    alter=alter,
)
