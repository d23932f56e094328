"""Every message counts as dealt with when it is delivered (`auto_ack=True`): a worker that dies takes what it had with it."""

from dataclasses import replace

from reference_impl.bootstrap import Parts
from reference_impl.ports import Broker, Consumer, Delivery, Publisher, Topology
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.ack_before_commit import Acknowledged
from scenarios.systems.mutants.mutant import Mutant


class _AutomaticConsumer(Acknowledged):
    def receive(self, *, timeout_s: float) -> Delivery | None:
        """See reference_impl.ports.Consumer."""
        delivery = self._consumer.receive(timeout_s=timeout_s)
        if delivery is not None:
            self._consumer.ack(delivery)
        return delivery


class AutomaticBroker:
    """A reference_impl.ports.Broker on top of another, whose consumers acknowledge what they receive."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def declare(self, topology: Topology) -> None:
        """See reference_impl.ports.Broker."""
        self._broker.declare(topology)

    def open_publisher(self) -> Publisher:
        """See reference_impl.ports.Broker."""
        return self._broker.open_publisher()

    def open_consumer(self, queue: str, *, prefetch: int) -> Consumer:
        """See reference_impl.ports.Broker."""
        return _AutomaticConsumer(self._broker.open_consumer(queue, prefetch=prefetch))

    def depth(self, queue: str) -> int:
        """See reference_impl.ports.Broker."""
        return self._broker.depth(queue)

    def close(self) -> None:
        """See reference_impl.ports.Broker."""
        self._broker.close()


def alter(parts: Parts) -> Parts:
    """With that broker between."""
    return replace(parts, broker=AutomaticBroker(parts.broker))


system = Mutant(
    name="automatic_ack",
    defect="messages are acknowledged automatically when they are delivered",
    expected=(Guarantee.NO_STUCK_TASK,),
    alter=alter,
)
