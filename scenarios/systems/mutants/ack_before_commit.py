"""Defect: the message is acknowledged before its task is claimed. A crash in between loses the task."""

from typing import cast

from reference_impl.loops.worker import Worker
from reference_impl.ports import Consumer, Delivery
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Delegate, Mutant, with_classes


class Acknowledged(Delegate):
    """A consumer whose messages have already been acknowledged."""

    def ack(self, delivery: Delivery) -> None:
        """Without effect: already acknowledged."""

    def reject(self, delivery: Delivery, *, requeue: bool) -> None:
        """Without effect: already acknowledged."""


class EarlyAckWorker(Worker):
    """Acknowledges the message as soon as it is received."""

    __slots__ = ()

    def handle_delivery(self, consumer: Consumer, delivery: Delivery) -> None:
        """Acknowledge first."""
        consumer.ack(delivery)
        super().handle_delivery(cast(Consumer, Acknowledged(consumer)), delivery)


system = Mutant(
    name="ack_before_commit",
    defect="the message is acknowledged before the claim of its task is committed",
    expected=(Guarantee.NO_STUCK_TASK,),
    patch=with_classes(worker=EarlyAckWorker),
)
