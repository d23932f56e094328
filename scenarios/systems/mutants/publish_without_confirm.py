"""Defect: the relay does not wait for confirms. Messages that the broker loses are lost."""

from collections.abc import Sequence
from typing import cast

from reference_impl.loops.relay import OutboxRelay
from reference_impl.ports import Message, Publisher, PublishOutcome
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Delegate, Mutant, with_classes


class AlwaysConfirmed(Delegate):
    """A publisher that reports every message as confirmed."""

    def publish(self, messages: Sequence[Message], *, timeout_s: float) -> Sequence[PublishOutcome]:
        """Send, and ignore the broker's answers."""
        self.inner.publish(messages, timeout_s=timeout_s)
        return [PublishOutcome.CONFIRMED] * len(messages)


class UnconfirmedRelay(OutboxRelay):
    """Treats every message as confirmed."""

    __slots__ = ()

    def publish_batch(self, publisher: Publisher) -> int:
        """Publish, ignoring the confirms."""
        return super().publish_batch(cast(Publisher, AlwaysConfirmed(publisher)))


system = Mutant(
    name="publish_without_confirm",
    defect="messages are marked sent without the broker's confirm",
    expected=(Guarantee.NO_STUCK_TASK, Guarantee.OUTBOX_ATOMIC),
    patch=with_classes(relay=UnconfirmedRelay),
)
