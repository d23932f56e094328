"""What the simulation says of RabbitMQ's quorum queues is what RabbitMQ does."""

from contextlib import suppress

import pytest

from reference_impl.errors import BrokerConnectionLost, BrokerError, BrokerUnavailable
from reference_impl.ports import Consumer, Delivery, Message, PublishOutcome
from tests.conformance.conftest import Conform
from tests.conformance.worlds import Clients

SOON_S = 2.0
NOT_S = 0.3


def publish(clients: Clients, *bodies: bytes, queue: str | None = None) -> list[PublishOutcome]:
    messages = [
        Message(f"message-{number}", queue or clients.topology().work_queue, body) for number, body in enumerate(bodies)
    ]
    return list(clients.broker().open_publisher().publish(messages, timeout_s=5.0))


def declare(clients: Clients, *, delivery_limit: int = 20) -> None:
    clients.broker().declare(clients.topology(delivery_limit=delivery_limit))


def consumer(clients: Clients, *, prefetch: int = 1, queue: str | None = None) -> Consumer:
    return clients.broker().open_consumer(queue or clients.topology().work_queue, prefetch=prefetch)


def receive(one: Consumer) -> Delivery:
    delivery = one.receive(timeout_s=SOON_S)
    assert delivery is not None, "a message was expected"
    return delivery


def drain(one: Consumer) -> list[bytes]:
    """Everything that comes, acknowledged."""
    bodies = []
    while (delivery := one.receive(timeout_s=NOT_S)) is not None:
        one.ack(delivery)
        bodies.append(delivery.body)
    return bodies


def test_a_message_to_a_queue_is_confirmed_and_delivered_once_in_order(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)

        outcomes = publish(clients, b"1", b"2", b"3")

        assert outcomes == [PublishOutcome.CONFIRMED] * 3
        assert drain(consumer(clients)) == [b"1", b"2", b"3"]

    conform(body)


def test_a_message_to_no_queue_is_returned(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)

        assert publish(clients, b"1", queue="nowhere") == [PublishOutcome.RETURNED]

    conform(body)


def test_declaring_again_changes_nothing(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)
        publish(clients, b"1")

        declare(clients)

        assert drain(consumer(clients)) == [b"1"]

    conform(body)


def test_no_more_than_the_prefetch_is_delivered_unacknowledged(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)
        publish(clients, b"1", b"2", b"3")
        one = consumer(clients, prefetch=2)

        held = [receive(one), receive(one)]
        nothing = one.receive(timeout_s=NOT_S)
        one.ack(held[0])

        assert nothing is None
        assert receive(one).body == b"3"

    conform(body)


def test_what_was_not_acknowledged_when_its_consumer_closed_comes_again_and_says_so(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)
        publish(clients, b"1", b"2")
        first = consumer(clients, prefetch=2)
        acknowledged, unacknowledged = receive(first), receive(first)
        first.ack(acknowledged)

        first.close()

        again = receive(consumer(clients))
        assert not unacknowledged.redelivered
        assert (again.body, again.redelivered) == (b"2", True)

    conform(body)


def test_what_was_given_back_comes_again_before_what_is_new(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)
        publish(clients, b"1", b"2")
        one = consumer(clients)

        one.reject(receive(one), requeue=True)

        again = receive(one)
        assert (again.body, again.redelivered) == (b"1", True)

    conform(body)


def test_what_was_rejected_for_good_is_among_the_dead_letters(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)
        publish(clients, b"1")
        one = consumer(clients)

        one.reject(receive(one), requeue=False)

        assert receive(consumer(clients, queue=clients.topology().dead_queue)).body == b"1"
        assert one.receive(timeout_s=NOT_S) is None

    conform(body)


@pytest.mark.parametrize("delivery_limit", [1, 3])
def test_a_message_that_comes_back_more_often_than_the_limit_is_among_the_dead_letters(
    conform: Conform, delivery_limit: int
) -> None:
    def body(clients: Clients) -> None:
        declare(clients, delivery_limit=delivery_limit)
        publish(clients, b"poison")
        one = consumer(clients)

        for _ in range(delivery_limit + 1):
            one.reject(receive(one), requeue=True)

        assert receive(consumer(clients, queue=clients.topology().dead_queue)).body == b"poison"
        assert one.receive(timeout_s=NOT_S) is None

    conform(body)


def test_two_consumers_share_what_comes(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)
        one, other = consumer(clients), consumer(clients)

        publish(clients, b"1", b"2")

        assert {receive(one).body, receive(other).body} == {b"1", b"2"}

    conform(body)


def test_the_depth_of_a_queue_is_what_waits_and_not_what_is_delivered(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)
        publish(clients, b"1", b"2", b"3")
        one = consumer(clients)
        receive(one)
        clients.rest(NOT_S)  # the count of a quorum queue lags a little

        assert clients.broker().depth(clients.topology().work_queue) == 2

    conform(body)


def test_a_consumer_of_no_queue_is_none(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)

        with pytest.raises(BrokerError):
            consumer(clients, queue="nowhere").receive(timeout_s=SOON_S)

    conform(body)


def test_a_broker_that_was_killed_keeps_what_it_confirmed_and_redelivers_what_was_not_acknowledged(
    conform: Conform,
) -> None:
    def body(clients: Clients) -> None:
        declare(clients)
        clients.rest(3.5)  # a queue younger than that may not survive: see docs/track_record.md
        publish(clients, b"1", b"2")
        one = consumer(clients)
        receive(one)
        publisher = clients.broker().open_publisher()

        with clients.down("rabbitmq"):
            with pytest.raises(BrokerConnectionLost):
                one.receive(timeout_s=SOON_S)
            late = Message("late", clients.topology().work_queue, b"late")
            with suppress(BrokerUnavailable):  # if the publisher has noticed by then that its connection is lost
                assert publisher.publish([late], timeout_s=2.0) == [PublishOutcome.UNKNOWN]
            with pytest.raises(BrokerUnavailable):
                publisher.publish([late], timeout_s=2.0)
            with pytest.raises(BrokerUnavailable):
                clients.broker().open_publisher()

        again = consumer(clients, prefetch=2)
        deliveries = [receive(again), receive(again)]
        assert sorted(delivery.body for delivery in deliveries) == [b"1", b"2"]
        assert {delivery.body: delivery.redelivered for delivery in deliveries}[b"1"]

    conform(body)


def test_acknowledging_on_a_closed_consumer_is_refused(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        declare(clients)
        publish(clients, b"1")
        one = consumer(clients)
        delivery = receive(one)
        one.close()
        clients.rest(NOT_S)

        with pytest.raises(BrokerConnectionLost):
            one.ack(delivery)

    conform(body)
