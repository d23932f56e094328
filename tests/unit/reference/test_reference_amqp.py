"""The RabbitMQ adapter without RabbitMQ: peers that refuse or say nothing, and the arithmetic of confirms."""

import gc
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.adapters import rabbitmq
from reference_impl.adapters.amqp_connection import AmqpChannel, AmqpConnection, PendingAnswers
from reference_impl.adapters.rabbitmq import RabbitBroker, _Batch
from reference_impl.errors import BrokerConnectionLost, BrokerUnavailable
from reference_impl.ports import PublishOutcome, Topology

TOPOLOGY = Topology("tasks", "tasks.dead", 20)
SHORT_S = 0.3
FIRST_TAG = 101


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def broker_at(port: int) -> RabbitBroker:
    return RabbitBroker(f"amqp://guest:guest@127.0.0.1:{port}/", "test", io_timeout_s=SHORT_S)


def test_a_broker_that_says_nothing_is_unavailable(silent_port: int) -> None:
    """R11, R24: no wait without a bound."""
    with closing(broker_at(silent_port)) as broker:
        for ask in (
            lambda: broker.declare(TOPOLOGY),
            broker.open_publisher,
            lambda: broker.open_consumer("tasks", prefetch=1),
            lambda: broker.depth("tasks"),
        ):
            with pytest.raises(BrokerUnavailable, match=r"no answer within|Timeout"):
                ask()


@pytest.mark.usefixtures("no_garbage_collection")
def test_a_broker_that_stays_away_uses_up_no_descriptors_and_no_threads(silent_port: int) -> None:
    """A worker tries five times a second while its broker is down, for hours."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        refusing_port = closed.getsockname()[1]
    before = descriptors()

    for port in (*[refusing_port] * 5, silent_port):
        with closing(broker_at(port)) as broker, pytest.raises(BrokerUnavailable):
            broker.open_publisher()

    assert descriptors() == before
    assert [thread for thread in threading.enumerate() if thread.name == "amqp test"] == []


def test_an_attempt_to_connect_that_fails_has_failed_for_all_who_waited_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the slots of a worker wait for one time-out after the other, and a graceful shutdown waits for all of them."""
    attempts: list[threading.Event] = []
    first_attempt = threading.Event()

    class AmqpConnection:
        def __init__(self, url: str, name: str, *, io_timeout_s: float) -> None:
            fails = threading.Event()
            attempts.append(fails)
            first_attempt.set()
            fails.wait()
            raise BrokerUnavailable("refused")

    broker = broker_at(1)
    monkeypatch.setattr(rabbitmq, "AmqpConnection", AmqpConnection)
    lock = WatchedLock(expected=3)
    monkeypatch.setattr(broker, "_lock", lock)
    told: list[str] = []

    def ask() -> None:
        try:
            broker.open_publisher()
        except BrokerUnavailable as error:
            told.append(error.why)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    first_attempt.wait()
    lock.all_here.wait()
    attempts[0].set()
    for asker in askers:
        asker.join()

    assert told == ["refused"] * 3
    assert len(attempts) == 1


class WatchedLock:
    """A lock that signals when the expected number of threads hold it or wait for it."""

    def __init__(self, expected: int) -> None:
        self._lock = threading.Lock()
        self._coming = threading.Semaphore(expected - 1)
        self.all_here = threading.Event()

    def __enter__(self) -> None:
        if not self._coming.acquire(blocking=False):
            self.all_here.set()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@st.composite
def answers(draw: st.DrawFn) -> tuple[int, list[tuple[int, bool, bool]]]:
    """A batch's size, and what a broker may say of it: (tag, multiple, refused), each message once, multiple for all before."""
    size = draw(st.integers(1, 20))
    open_tags = list(range(FIRST_TAG, FIRST_TAG + size))
    said = []
    while open_tags and draw(st.integers(0, 9)):
        tag = draw(st.sampled_from(open_tags))
        multiple = draw(st.booleans())
        said.append((tag, multiple, draw(st.booleans())))
        open_tags = [other for other in open_tags if (other > tag if multiple else other != tag)]
    return size, said


@given(answers(), st.integers(FIRST_TAG - 25, FIRST_TAG - 1), st.booleans())
def test_each_message_has_the_outcome_that_the_broker_gave_it_and_no_other(
    broker_says: tuple[int, list[tuple[int, bool, bool]]], earlier_tag: int, earlier_multiple: bool
) -> None:
    """R11: one by one or `multiple`; unknown where it said nothing; the answers to an earlier batch mean nothing."""
    size, said = broker_says
    expected = dict.fromkeys(range(FIRST_TAG, FIRST_TAG + size), PublishOutcome.UNKNOWN)
    done: Future[None] = Future()
    batch = _Batch(FIRST_TAG, [PublishOutcome.UNKNOWN] * size, done)

    batch.settle(earlier_tag, PublishOutcome.CONFIRMED, multiple=earlier_multiple)
    for tag, multiple, refused in said:
        outcome = PublishOutcome.REFUSED if refused else PublishOutcome.CONFIRMED
        batch.settle(tag, outcome, multiple=multiple)
        for other in range(FIRST_TAG if multiple else tag, tag + 1):
            if expected[other] is PublishOutcome.UNKNOWN:
                expected[other] = outcome

    assert batch.outcomes == list(expected.values())
    assert done.done() == (PublishOutcome.UNKNOWN not in batch.outcomes)


def test_whoever_uses_a_channel_learns_of_a_lost_connection_even_where_the_driver_does_not_say() -> None:
    """If the driving thread fails inside the driver's own work, no thread keeps waiting for messages."""
    connection = AmqpConnection.__new__(AmqpConnection)
    connection._answers = PendingAnswers()
    channel = AmqpChannel.__new__(AmqpChannel)
    channel._answers = PendingAnswers()
    ended: list[str] = []
    channel._on_end = lambda: ended.append("ended")
    connection._channels = {channel}
    answer = channel.expect()

    connection._lose(ZeroDivisionError("a bug"))

    assert ended == ["ended"]
    with pytest.raises(BrokerConnectionLost, match="a bug"):
        answer.result(0)
    with pytest.raises(BrokerConnectionLost, match="a bug"):
        channel.check()
    assert not connection.is_open
