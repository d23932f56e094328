"""The broker port over a real RabbitMQ: what is confirmed is there, what is not known is not claimed, and nobody waits for ever."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace

import pytest
from pamqp import commands, frame

from chaos.environment import Services
from chaos.environments.local import LocalEnvironment
from chaos.faults import KillService
from chaos.services.addresses import RabbitmqAddress
from reference_impl.adapters.rabbitmq import RabbitBroker, RabbitConsumer
from reference_impl.errors import BrokerConnectionLost, BrokerUnavailable
from reference_impl.ports import Delivery, Message, PublishOutcome, Topology
from tests.services.wire import Wire

pytestmark = pytest.mark.services

IO_TIMEOUT_S = 10.0
SHORT_S = 0.5
"""For what is to time out."""
FOR_EVER_S = 1e6
"""For what must be woken, not time out."""
RECEIVE_S = 0.2
LOOKS_MAX = 300
QUEUE_AGE_S = 2.0
"""RabbitMQ 3.10 writes down that it has a new quorum queue half a second after: killed before, it keeps a queue that never answers."""
DELIVERY_LIMIT = 2
BATCH = 200
BASIC_CONSUME = b"\x00\x3c\x00\x14"
CONFIRMED = PublishOutcome.CONFIRMED


@dataclass(frozen=True)
class Place:
    """A broker's address and the queues of one test in it."""

    address: RabbitmqAddress
    topology: Topology
    services: Services

    def open(self, *, io_timeout_s: float = IO_TIMEOUT_S, port: int | None = None) -> RabbitBroker:
        address = self.address if port is None else replace(self.address, host="127.0.0.1", port=port)
        return RabbitBroker(address.url, "test", io_timeout_s=io_timeout_s)


@pytest.fixture
def place(provision: Callable[..., Services]) -> Place:
    services = provision()
    assert services.rabbitmq is not None
    prefix = services.namespace
    return Place(services.rabbitmq, Topology(f"{prefix}.tasks", f"{prefix}.tasks.dead", DELIVERY_LIMIT), services)


@pytest.fixture
def broker(place: Place) -> Iterator[RabbitBroker]:
    with closing(place.open()) as opened:
        opened.declare(place.topology)
        yield opened


@pytest.fixture
def wire(place: Place) -> Iterator[Wire]:
    with closing(Wire((place.address.host, place.address.port))) as opened:
        yield opened


def messages(topology: Topology, *numbers: int) -> list[Message]:
    return [Message(str(number), topology.work_queue, b"%d" % number) for number in numbers]


def take(consumer: RabbitConsumer) -> Delivery:
    """The next message, however long it takes."""
    for _ in range(LOOKS_MAX):
        delivery = consumer.receive(timeout_s=RECEIVE_S)
        if delivery is not None:
            return delivery
    raise AssertionError("no message came")


def await_depth(broker: RabbitBroker, queue: str, depth: int) -> None:
    pause = threading.Event()
    for _ in range(LOOKS_MAX):
        if broker.depth(queue) == depth:
            return
        pause.wait(RECEIVE_S)
    raise AssertionError(f"{broker.depth(queue)} messages in {queue}, not {depth}")


def test_what_is_confirmed_is_delivered_in_order_and_gone_when_acknowledged(broker: RabbitBroker, place: Place) -> None:
    """R11."""
    outcomes = broker.open_publisher().publish(messages(place.topology, 1, 2, 3), timeout_s=IO_TIMEOUT_S)
    consumer = broker.open_consumer(place.topology.work_queue, prefetch=2)
    bodies = []
    for _ in range(3):
        delivery = take(consumer)
        bodies.append((delivery.body, delivery.redelivered))
        consumer.ack(delivery)
    consumer.close()

    assert outcomes == [CONFIRMED] * 3
    assert bodies == [(b"1", False), (b"2", False), (b"3", False)]
    await_depth(broker, place.topology.work_queue, 0)


def test_a_message_that_no_queue_takes_is_returned_though_the_broker_confirms_it(
    broker: RabbitBroker, place: Place
) -> None:
    """R11: mandatory."""
    one, _, three = messages(place.topology, 1, 2, 3)
    astray = Message("2", f"{place.topology.work_queue}.nowhere", b"2")

    outcomes = broker.open_publisher().publish([one, astray, three], timeout_s=IO_TIMEOUT_S)

    assert outcomes == [CONFIRMED, PublishOutcome.RETURNED, CONFIRMED]
    await_depth(broker, place.topology.work_queue, 2)


def test_publishing_nothing_waits_for_nothing(broker: RabbitBroker) -> None:
    assert broker.open_publisher().publish([], timeout_s=FOR_EVER_S) == []


def test_what_was_not_acknowledged_comes_again_and_says_so(broker: RabbitBroker, place: Place) -> None:
    """R9, R10."""
    broker.open_publisher().publish(messages(place.topology, 1), timeout_s=IO_TIMEOUT_S)
    first = broker.open_consumer(place.topology.work_queue, prefetch=1)
    take(first)
    first.close()

    again = take(broker.open_consumer(place.topology.work_queue, prefetch=1))

    assert (again.body, again.redelivered) == (b"1", True)


def test_no_more_than_the_prefetch_is_given_to_one_consumer(broker: RabbitBroker, place: Place) -> None:
    """R11."""
    broker.open_publisher().publish(messages(place.topology, 1, 2, 3), timeout_s=IO_TIMEOUT_S)
    greedy = broker.open_consumer(place.topology.work_queue, prefetch=2)
    taken = [take(greedy).body, take(greedy).body]

    other = take(broker.open_consumer(place.topology.work_queue, prefetch=2)).body

    assert (taken, other) == ([b"1", b"2"], b"3")


def test_a_message_given_back_too_often_goes_to_the_dead_letters(broker: RabbitBroker, place: Place) -> None:
    """R10: quorum queue with a delivery limit; one bad message cannot occupy consumers without end."""
    broker.open_publisher().publish(messages(place.topology, 1), timeout_s=IO_TIMEOUT_S)
    consumer = broker.open_consumer(place.topology.work_queue, prefetch=1)
    for _ in range(DELIVERY_LIMIT + 1):
        consumer.reject(take(consumer), requeue=True)

    await_depth(broker, place.topology.dead_queue, 1)

    assert consumer.receive(timeout_s=0.0) is None
    assert take(broker.open_consumer(place.topology.dead_queue, prefetch=1)).body == b"1"


def test_a_message_refused_for_good_goes_to_the_dead_letters(broker: RabbitBroker, place: Place) -> None:
    """R10."""
    broker.open_publisher().publish(messages(place.topology, 1), timeout_s=IO_TIMEOUT_S)
    consumer = broker.open_consumer(place.topology.work_queue, prefetch=1)

    consumer.reject(take(consumer), requeue=False)

    await_depth(broker, place.topology.dead_queue, 1)
    await_depth(broker, place.topology.work_queue, 0)


def test_the_broker_s_own_reason_is_told_and_not_waited_for(broker: RabbitBroker, place: Place) -> None:
    """Else a queue declared otherwise looks like a network that is slow, for ever."""
    other = replace(place.topology, delivery_limit=DELIVERY_LIMIT + 1)

    with pytest.raises(BrokerUnavailable, match="PRECONDITION_FAILED"):
        broker.declare(other)
    with pytest.raises(BrokerUnavailable, match="NOT_FOUND"):
        broker.depth(f"{place.topology.work_queue}.nowhere")


def test_wrong_credentials_are_told(place: Place) -> None:
    stranger = replace(place, address=replace(place.address, password="wrong"))

    with closing(stranger.open()) as broker, pytest.raises(BrokerUnavailable, match="Authentication"):
        broker.open_publisher()


def test_a_consumer_whose_queue_was_deleted_learns_it(broker: RabbitBroker, place: Place) -> None:
    consumer = broker.open_consumer(place.topology.work_queue, prefetch=1)
    with broker._channel() as channel:
        channel.ask(lambda amqp, done: amqp.queue_delete(place.topology.work_queue, callback=done))

    with pytest.raises(BrokerConnectionLost, match="cancelled"):
        consumer.receive(timeout_s=FOR_EVER_S)


def test_an_unknown_delivery_tag_ends_the_channel_and_not_the_connection(broker: RabbitBroker, place: Place) -> None:
    consumer = broker.open_consumer(place.topology.work_queue, prefetch=1)

    consumer.ack(Delivery(99, b"", redelivered=False))

    with pytest.raises(BrokerConnectionLost, match="unknown delivery tag"):
        consumer.receive(timeout_s=FOR_EVER_S)
    assert broker.depth(place.topology.work_queue) == 0


def test_confirms_that_stay_away_leave_the_outcome_unknown(broker: RabbitBroker, place: Place, wire: Wire) -> None:
    """R11: a missing confirm is unknown, not failed: the messages are in the queue."""
    with closing(place.open(port=wire.port)) as far:
        publisher = far.open_publisher()
        wire.hold_answers()

        outcomes = publisher.publish(messages(place.topology, 1, 2), timeout_s=SHORT_S)

        await_depth(broker, place.topology.work_queue, 2)
        wire.let_answers_through()
    assert outcomes == [PublishOutcome.UNKNOWN] * 2


def test_late_confirms_of_one_batch_are_not_taken_for_those_of_the_next(place: Place, wire: Wire) -> None:
    """R11."""
    with closing(place.open(port=wire.port)) as far:
        far.declare(place.topology)
        publisher = far.open_publisher()
        wire.hold_answers()
        first = publisher.publish(messages(place.topology, 1, 2), timeout_s=SHORT_S)
        astray = Message("3", f"{place.topology.work_queue}.nowhere", b"3")
        wire.let_answers_through()

        second = publisher.publish([astray, *messages(place.topology, 4)], timeout_s=IO_TIMEOUT_S)

    assert first == [PublishOutcome.UNKNOWN] * 2
    assert second == [PublishOutcome.RETURNED, CONFIRMED]


def test_a_consumer_that_could_not_be_opened_in_time_holds_no_message(
    broker: RabbitBroker, place: Place, wire: Wire
) -> None:
    """R10: the broker has registered it, but nobody listens to it any more."""
    broker.open_publisher().publish(messages(place.topology, 1), timeout_s=IO_TIMEOUT_S)
    with closing(place.open(port=wire.port, io_timeout_s=SHORT_S)) as far:
        wire.hold_answers_at(lambda data: BASIC_CONSUME in data)
        with pytest.raises(BrokerUnavailable, match="no answer within"):
            far.open_consumer(place.topology.work_queue, prefetch=1)
        wire.let_answers_through()

        delivery = take(broker.open_consumer(place.topology.work_queue, prefetch=1))

    assert delivery.body == b"1"


def test_a_blocked_connection_is_given_up_and_nothing_is_confirmed(place: Place, wire: Wire) -> None:
    """R11: a broker out of memory or disk takes no messages and sends no confirm."""
    with closing(place.open(port=wire.port, io_timeout_s=SHORT_S)) as far:
        far.declare(place.topology)
        publisher = far.open_publisher()
        wire.hold_answers()
        wire.say_as_the_service(frame.marshal(commands.Connection.Blocked("low on memory"), 0))

        outcomes = publisher.publish(messages(place.topology, 1), timeout_s=IO_TIMEOUT_S)

        with pytest.raises(BrokerUnavailable, match="Blocked"):
            publisher.publish(messages(place.topology, 2), timeout_s=IO_TIMEOUT_S)
        wire.let_answers_through()
    assert outcomes == [PublishOutcome.UNKNOWN]


def test_whoever_waits_is_woken_when_the_connection_is_cut_and_the_next_call_connects_anew(
    place: Place, wire: Wire
) -> None:
    """R10: in production this is a broker that went away in the middle of anything."""
    with closing(place.open(port=wire.port)) as far:
        far.declare(place.topology)
        consumer = far.open_consumer(place.topology.work_queue, prefetch=1)
        publisher = far.open_publisher()
        lost = threading.Event()

        def wait_for_a_message() -> None:
            with suppress(BrokerConnectionLost):
                consumer.receive(timeout_s=FOR_EVER_S)
                return
            lost.set()

        waiting = threading.Thread(target=wait_for_a_message)
        waiting.start()

        wire.cut_all()

        waiting.join()
        assert lost.is_set()
        with pytest.raises(BrokerConnectionLost):
            consumer.ack(Delivery(1, b"", redelivered=False))
        with pytest.raises(BrokerUnavailable):
            publisher.publish(messages(place.topology, 1), timeout_s=IO_TIMEOUT_S)
        assert far.depth(place.topology.work_queue) == 0


def test_a_driving_thread_that_breaks_is_a_lost_connection_to_everybody(broker: RabbitBroker, place: Place) -> None:
    consumer = broker.open_consumer(place.topology.work_queue, prefetch=1)
    publisher = broker.open_publisher()

    def break_it() -> None:
        raise ZeroDivisionError("a bug")

    broker._open_connection().submit(break_it)

    with pytest.raises(BrokerConnectionLost, match="a bug"):
        consumer.receive(timeout_s=FOR_EVER_S)
    with pytest.raises(BrokerUnavailable, match="a bug"):
        publisher.publish(messages(place.topology, 1), timeout_s=FOR_EVER_S)
    assert broker.depth(place.topology.work_queue) == 0


def test_closing_wakes_whoever_waits_and_nobody_connects_again(broker: RabbitBroker, place: Place) -> None:
    """R30."""
    consumer = broker.open_consumer(place.topology.work_queue, prefetch=1)
    closer = threading.Thread(target=broker.close)
    closer.start()

    with pytest.raises(BrokerConnectionLost):
        consumer.receive(timeout_s=FOR_EVER_S)

    closer.join()
    with pytest.raises(BrokerUnavailable, match="closed by this process"):
        broker.open_publisher()


def test_acknowledgements_that_were_given_before_closing_arrive(broker: RabbitBroker, place: Place) -> None:
    """R30: a graceful end must not run again what was done."""
    count = 50
    broker.open_publisher().publish(messages(place.topology, *range(count)), timeout_s=IO_TIMEOUT_S)
    with closing(place.open()) as worker:
        consumer = worker.open_consumer(place.topology.work_queue, prefetch=count)
        for _ in range(count):
            consumer.ack(take(consumer))
        consumer.close()

    assert broker.depth(place.topology.work_queue) == 0
    assert broker.open_consumer(place.topology.work_queue, prefetch=1).receive(timeout_s=RECEIVE_S) is None


def test_a_broker_killed_in_the_middle_of_a_batch_has_lost_nothing_that_it_confirmed(
    local: LocalEnvironment, broker: RabbitBroker, place: Place
) -> None:
    """R11, R13: unknown is published again; confirmed never has to be."""
    injection = local.injection(KillService("rabbitmq"), place.services, {})
    publisher = broker.open_publisher()
    born_s = time.monotonic()
    confirmed: set[bytes] = set()
    seen: set[PublishOutcome] = set()
    batches = itertools.count()
    killer = threading.Thread(target=injection.begin)
    while PublishOutcome.UNKNOWN not in seen:
        if not killer.ident and time.monotonic() > born_s + QUEUE_AGE_S:
            killer.start()
        batch = next(batches)
        numbers = range(batch * BATCH, (batch + 1) * BATCH)
        outcomes = publisher.publish(messages(place.topology, *numbers), timeout_s=IO_TIMEOUT_S)
        confirmed |= {b"%d" % number for number, said in zip(numbers, outcomes, strict=True) if said is CONFIRMED}
        seen |= set(outcomes)
    killer.join()
    injection.end()
    injection.await_healed(60.0)

    consumer = broker.open_consumer(place.topology.work_queue, prefetch=500)
    found = set()
    while delivery := consumer.receive(timeout_s=1.0):
        found.add(delivery.body)
        consumer.ack(delivery)

    assert seen == {CONFIRMED, PublishOutcome.UNKNOWN}
    assert confirmed - found == set()
