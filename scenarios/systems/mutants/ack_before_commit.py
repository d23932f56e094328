"""The message is acknowledged before its task is claimed: a crash in between, and nobody ever hears of the task again."""

from dataclasses import replace

from reference_impl.bootstrap import Parts
from reference_impl.loops.worker import Worker
from reference_impl.ports import Consumer, Delivery
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant


class Acknowledged:
    """A consumer on top of another whose messages have been acknowledged: whoever acknowledges them later does nothing."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def receive(self, *, timeout_s: float) -> Delivery | None:
        """See reference_impl.ports.Consumer."""
        return self._consumer.receive(timeout_s=timeout_s)

    def ack(self, delivery: Delivery) -> None:
        """It has been."""

    def reject(self, delivery: Delivery, *, requeue: bool) -> None:
        """Too late."""

    def close(self) -> None:
        """See reference_impl.ports.Consumer."""
        self._consumer.close()


class WorkerThatAcksFirst(Worker):
    """Says that the message is dealt with when it begins to deal with it."""

    __slots__ = ()

    def deal_with(self, consumer: Consumer, delivery: Delivery) -> None:
        """See reference_impl.loops.worker.Worker."""
        consumer.ack(delivery)
        super().deal_with(Acknowledged(consumer), delivery)


def alter(parts: Parts) -> Parts:
    """With that worker."""
    return replace(parts, kinds=replace(parts.kinds, worker=WorkerThatAcksFirst))


system = Mutant(
    name="ack_before_commit",
    defect="the message is acknowledged before the claim of its task is committed",
    expected=(Guarantee.NO_STUCK_TASK,),
    alter=alter,
)
