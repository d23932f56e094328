"""Broker and cache of the embedded mode: the same promises as the real ones, for the threads of one process."""

import threading

import pytest

from reference_impl.adapters import memory
from reference_impl.adapters.memory import MemoryBroker, MemoryCache, MemoryConsumer
from reference_impl.errors import BrokerConnectionLost, BrokerUnavailable
from reference_impl.ports import Delivery, Message, PublishOutcome, Topology

TOPOLOGY = Topology("tasks", "tasks.dead", 2)
FOR_EVER_S = 1e6


@pytest.fixture
def broker() -> MemoryBroker:
    made = MemoryBroker()
    made.declare(TOPOLOGY)
    return made


def publish(broker: MemoryBroker, *bodies: bytes, queue: str = "tasks") -> list[PublishOutcome]:
    messages = [Message(str(number), queue, body) for number, body in enumerate(bodies)]
    return list(broker.open_publisher().publish(messages, timeout_s=0.0))


def take(consumer: MemoryConsumer) -> Delivery:
    delivery = consumer.receive(timeout_s=0.0)
    assert delivery is not None
    return delivery


def test_messages_come_in_order_and_are_gone_when_acknowledged(broker: MemoryBroker) -> None:
    outcomes = publish(broker, b"1", b"2")
    consumer = broker.open_consumer("tasks", prefetch=1)
    bodies = []
    for _ in range(2):
        delivery = take(consumer)
        bodies.append((delivery.body, delivery.redelivered))
        consumer.ack(delivery)
    consumer.close()

    assert outcomes == [PublishOutcome.CONFIRMED] * 2
    assert bodies == [(b"1", False), (b"2", False)]
    assert broker.depth("tasks") == 0


def test_a_message_that_no_queue_takes_is_returned(broker: MemoryBroker) -> None:
    """R11."""
    assert publish(broker, b"1", queue="nowhere") == [PublishOutcome.RETURNED]


def test_a_queue_that_was_not_declared_is_unavailable_not_a_crash() -> None:
    """/health/ready of a starting process may ask for the depth before the first worker has declared the queues."""
    broker = MemoryBroker()

    with pytest.raises(BrokerUnavailable):
        broker.depth("tasks")
    with pytest.raises(BrokerUnavailable):
        broker.open_consumer("tasks", prefetch=1)


def test_declaring_again_keeps_what_is_there(broker: MemoryBroker) -> None:
    publish(broker, b"1")

    broker.declare(TOPOLOGY)

    assert broker.depth("tasks") == 1


def test_what_was_not_acknowledged_comes_again_first_and_says_so(broker: MemoryBroker) -> None:
    """R9, R10."""
    publish(broker, b"1", b"2", b"3")
    first = broker.open_consumer("tasks", prefetch=2)
    take(first)
    take(first)
    first.close()

    again = broker.open_consumer("tasks", prefetch=1)

    assert [(one.body, one.redelivered) for one in (take(again), take(again), take(again))] == [
        (b"1", True),
        (b"2", True),
        (b"3", False),
    ]


def test_a_message_given_back_too_often_goes_to_the_dead_letters(broker: MemoryBroker) -> None:
    """R10: as RabbitMQ's delivery limit does."""
    publish(broker, b"bad")
    consumer = broker.open_consumer("tasks", prefetch=1)
    for _ in range(TOPOLOGY.delivery_limit + 1):
        consumer.reject(take(consumer), requeue=True)

    assert (broker.depth("tasks"), broker.depth("tasks.dead")) == (0, 1)
    assert take(broker.open_consumer("tasks.dead", prefetch=1)).body == b"bad"


def test_a_message_refused_for_good_goes_to_the_dead_letters(broker: MemoryBroker) -> None:
    """R10."""
    publish(broker, b"bad")
    consumer = broker.open_consumer("tasks", prefetch=1)

    consumer.reject(take(consumer), requeue=False)

    assert (broker.depth("tasks"), broker.depth("tasks.dead")) == (0, 1)


def test_a_closed_consumer_and_an_unknown_tag_are_a_lost_channel(broker: MemoryBroker) -> None:
    publish(broker, b"1")
    closed, confused = broker.open_consumer("tasks", prefetch=1), broker.open_consumer("tasks", prefetch=1)
    delivery = take(closed)
    closed.close()
    held = take(confused)

    for use in (lambda: closed.receive(timeout_s=0.0), lambda: closed.ack(delivery)):
        with pytest.raises(BrokerConnectionLost, match="closed"):
            use()
    with pytest.raises(BrokerConnectionLost, match="unknown delivery tag"):
        confused.ack(Delivery(held.tag + 1, b"", redelivered=False))
    assert broker.depth("tasks") == 1, "what the channel held went back"


@pytest.mark.parametrize("how", ["publish", "give back"])
def test_whoever_waits_is_woken_by_a_message(broker: MemoryBroker, how: str) -> None:
    holder = broker.open_consumer("tasks", prefetch=1)
    if how == "give back":
        publish(broker, b"1")
        take(holder)
    got: list[Delivery | None] = []
    waiting = threading.Thread(
        target=lambda: got.append(broker.open_consumer("tasks", prefetch=1).receive(timeout_s=FOR_EVER_S))
    )
    waiting.start()

    publish(broker, b"1") if how == "publish" else holder.close()

    waiting.join()
    assert [delivery.body for delivery in got if delivery] == [b"1"]


def test_many_consumers_get_each_message_once(broker: MemoryBroker) -> None:
    """R9: threads at the same time."""
    bodies = [b"%d" % number for number in range(400)]
    publish(broker, *bodies)
    got: list[bytes] = []

    def consume() -> None:
        consumer = broker.open_consumer("tasks", prefetch=1)
        while delivery := consumer.receive(timeout_s=0.0):
            got.append(delivery.body)
            consumer.ack(delivery)

    threads = [threading.Thread(target=consume) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(got) == sorted(bodies)


class Clock:
    def __init__(self) -> None:
        self.s = 1000.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> MemoryCache:
    return MemoryCache(monotonic_s=clock, wall_s=clock)


def test_progress_is_replaced_as_a_whole_and_runs_out(cache: MemoryCache, clock: Clock) -> None:
    """R4."""
    cache.write_progress("t", {"step": "one", "percent": 10, "extra": "x"}, expiry_s=60.0)
    cache.write_progress("t", {"step": "two", "percent": 20}, expiry_s=60.0)
    before = cache.read_progress("t")
    clock.s += 60.0

    assert before == {"step": "two", "percent": "20"}
    assert cache.read_progress("t") is None


def test_a_lock_has_one_owner_until_it_runs_out_or_is_released(cache: MemoryCache, clock: Clock) -> None:
    """R7."""
    first = cache.acquire_lock("sweep", "a", ttl_s=10.0, fence_above=0)
    taken = cache.acquire_lock("sweep", "b", ttl_s=10.0, fence_above=0)
    not_theirs = cache.renew_lock("sweep", "b", ttl_s=10.0), cache.release_lock("sweep", "b")
    clock.s += 9.0
    renewed = cache.renew_lock("sweep", "a", ttl_s=10.0)
    clock.s += 9.0
    still_taken = cache.acquire_lock("sweep", "b", ttl_s=10.0, fence_above=0)
    clock.s += 1.0
    second = cache.acquire_lock("sweep", "b", ttl_s=10.0, fence_above=0)
    too_late = cache.renew_lock("sweep", "a", ttl_s=10.0), cache.release_lock("sweep", "a")
    released = cache.release_lock("sweep", "b")
    third = cache.acquire_lock("sweep", "c", ttl_s=10.0, fence_above=0)

    assert (first, second, third) == (1, 2, 3)
    assert (taken, still_taken) == (None, None)
    assert (not_theirs, renewed, too_late, released) == ((False, False), True, (False, False), True)


def test_a_fence_is_above_the_one_that_the_resource_has_seen(cache: MemoryCache) -> None:
    """R7: after a restart the memory is empty, the database is not."""
    assert cache.acquire_lock("sweep", "a", ttl_s=10.0, fence_above=41) == 42


def test_a_window_takes_so_many_and_says_how_long_to_wait(cache: MemoryCache, clock: Clock) -> None:
    """R6."""
    clock.s = 600.0 + 45.0

    def count(user: str = "alice") -> float | None:
        return cache.count_in_window("new_tasks", user, n_max=2, window_s=60.0)

    answers = [count(), count(), count(), count("bob")]
    clock.s = 660.0

    assert answers == [None, None, 15.0, None]
    assert count() is None, "the next window"


def test_what_has_run_out_does_not_stay_for_ever(cache: MemoryCache, clock: Clock) -> None:
    """R29: an embedded process that lives for months reports the progress of many tasks, each once."""
    for number in range(10 * memory.PURGE_SIZE_MIN):
        cache.write_progress(f"t{number}", {"percent": 1}, expiry_s=60.0)
        clock.s += 1.0

    assert len(cache._entries) <= memory.PURGE_SIZE_MIN
    assert cache.read_progress(f"t{10 * memory.PURGE_SIZE_MIN - 1}") == {"percent": "1"}
