"""The outbox row is marked sent, then published: a crash or a lost publish in between, and its message never comes."""

from dataclasses import replace

from reference_impl.bootstrap import Parts
from reference_impl.loops.relay import Relay
from reference_impl.ports import Message, Publisher
from reference_impl.rows import outbox
from reference_impl.rows.transactions import transact
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant


class RelayThatMarksFirst(Relay):
    """Believes that what it is about to publish will be confirmed."""

    __slots__ = ()

    def publish_batch(self, publisher: Publisher) -> int:
        """See reference_impl.loops.relay.Relay."""
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


def alter(parts: Parts) -> Parts:
    """With that relay."""
    return replace(parts, kinds=replace(parts.kinds, relay=RelayThatMarksFirst))


system = Mutant(
    name="sent_before_confirm",
    defect="the outbox row is marked sent before the broker has confirmed its message",
    expected=(Guarantee.NO_STUCK_TASK, Guarantee.OUTBOX_ATOMIC),
    alter=alter,
)
