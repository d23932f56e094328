"""Defect: messages are acknowledged on delivery (`auto_ack=True`). A worker that dies loses the messages it has received."""

from dataclasses import replace
from typing import cast

from reference_impl.components import Components
from reference_impl.ports import Broker, Consumer, Delivery
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Delegate, Mutant
from scenarios.systems.mutants.ack_before_commit import Acknowledged


class AutoAckConsumer(Acknowledged):
    """Acknowledges each message on receipt."""

    def receive(self, *, timeout_s: float) -> Delivery | None:
        """Receive and acknowledge."""
        delivery: Delivery | None = self.inner.receive(timeout_s=timeout_s)
        if delivery is not None:
            self.inner.ack(delivery)
        return delivery


class AutoAckBroker(Delegate):
    """A broker whose consumers acknowledge automatically."""

    def open_consumer(self, queue: str, *, prefetch: int) -> Consumer:
        """A consumer that acknowledges automatically."""
        return cast(Consumer, AutoAckConsumer(self.inner.open_consumer(queue, prefetch=prefetch)))


def patch(components: Components) -> Components:
    """Put that broker in front of the real one."""
    return replace(components, broker=cast(Broker, AutoAckBroker(components.broker)))


system = Mutant(
    name="automatic_ack",
    defect="messages are acknowledged automatically when they are delivered",
    expected=(Guarantee.NO_STUCK_TASK,),
    patch=patch,
)
