"""Defect: the outbox row is marked sent before it is published. A crash or a lost publish loses the message."""

from reference_impl.loops.relay import OutboxRelay
from reference_impl.ports import Message, Publisher
from reference_impl.rows import outbox
from reference_impl.rows.transactions import transact
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Mutant, with_classes


class EarlyMarkRelay(OutboxRelay):
    """Marks the rows sent, then publishes them."""

    __slots__ = ()

    def publish_batch(self, publisher: Publisher) -> int:
        """Mark the whole batch first."""
        claim = self.runtime.entropy.identifier()
        rows = transact(
            self.engine,
            lambda connection: outbox.claim_batch(connection, claim, rows_max=self.rows_max, claim_s=self.claim_s),
        )
        if rows:
            transact(self.engine, lambda connection: outbox.mark_sent(connection, [row.id for row in rows]))
            messages = [Message(str(row.id), row.queue, row.body.encode()) for row in rows]
            publisher.publish(messages, timeout_s=self.confirm_timeout_s)
        return len(rows)


system = Mutant(
    name="sent_before_confirm",
    defect="the outbox row is marked sent before the broker has confirmed its message",
    expected=(Guarantee.NO_STUCK_TASK, Guarantee.OUTBOX_ATOMIC),
    patch=with_classes(relay=EarlyMarkRelay),
)
