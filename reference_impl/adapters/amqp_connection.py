"""A connection to RabbitMQ and the thread that drives it, so that long handlers miss no heartbeat; channels on which one can wait.

pika calls back on the driving thread alone. Whoever waits for an answer waits for a bounded time, and is woken at once when the
answer cannot come any more, because its channel or the connection is gone.
"""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import pika
import pika.exceptions
from pika.channel import Channel

from reference_impl.errors import BrokerConnectionLost, BrokerUnavailable

HEARTBEAT_S = 10
"""The broker ends a connection after two missed ones; pika notices a silent broker as late."""
WHY_CHARACTERS_MAX = 200


class Answers:
    """Futures that one thread waits for and the driving thread settles; all fail together when no answer can come any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._awaited: set[Future[Any]] = set()
        self._gone: str | None = None

    def check(self) -> None:
        """Nothing, while answers may come.

        Raises:
            BrokerConnectionLost: none will.
        """
        if self._gone is not None:
            raise BrokerConnectionLost(self._gone)

    def expect(self) -> Future[Any]:
        """A future that the driving thread will settle.

        Raises:
            BrokerConnectionLost: it will not.
        """
        answer: Future[Any] = Future()
        with self._lock:
            self.check()
            self._awaited.add(answer)
        return answer

    def wait(self, answer: Future[Any], timeout_s: float) -> Any:
        """What the future comes to.

        Raises:
            BrokerConnectionLost: there is no answer, or none in time.
        """
        try:
            return answer.result(timeout_s)
        except FutureTimeout as error:
            raise BrokerConnectionLost(f"no answer within {timeout_s:g} s") from error
        finally:
            with self._lock:
                self._awaited.discard(answer)

    def end(self, why: str) -> bool:
        """Whether this call ended it: no answer will come any more, and whoever waits is told why."""
        with self._lock:
            if self._gone is not None:
                return False
            self._gone = why[:WHY_CHARACTERS_MAX]
            awaited = list(self._awaited)
        for answer in awaited:
            fail(answer, self._gone)
        return True


class AmqpConnection:
    """An open connection; never reopened: whoever finds it broken makes another."""

    def __init__(self, parameters: pika.URLParameters, name: str, *, io_timeout_s: float) -> None:
        """Connect.

        Raises:
            BrokerUnavailable: the broker refused, or did not answer within `io_timeout_s`.
        """
        self.io_timeout_s = io_timeout_s
        self._answers = Answers()
        self._channels: set[AmqpChannel] = set()  # of the driving thread alone
        opened = self._answers.expect()
        self._connection = pika.SelectConnection(
            parameters,
            on_open_callback=lambda _: settle(opened, None),
            on_open_error_callback=lambda _, error: self._end(error),
            on_close_callback=lambda _, error: self._end(error),
        )
        self._thread = threading.Thread(target=self._drive, name=f"amqp {name}", daemon=True)
        self._thread.start()
        try:
            self._answers.wait(opened, io_timeout_s)
        except BrokerConnectionLost as error:
            self.close()
            raise BrokerUnavailable(error.why) from error

    @property
    def is_open(self) -> bool:
        """Whether it has not been lost, as far as is known."""
        try:
            self._answers.check()
        except BrokerConnectionLost:
            return False
        return True

    def submit(self, action: Callable[[], object]) -> None:
        """Have the driving thread do it; nobody waits for it.

        Raises:
            BrokerConnectionLost: there is no connection any more.
        """
        self._answers.check()

        def guarded() -> None:
            # A channel or connection that closed in the meantime: its own callback tells whoever uses it.
            with contextlib.suppress(pika.exceptions.AMQPError):
                action()

        self._connection.ioloop.add_callback_threadsafe(guarded)

    def open_on_thread(self, channel: "AmqpChannel", on_open: Callable[[Channel], None]) -> Channel:
        """On the driving thread only: begin to open a channel that shares this connection's end."""
        opening: Channel = self._connection.channel(on_open_callback=on_open)
        self._channels.add(channel)
        opening.add_on_close_callback(lambda _, reason: self._close_one(channel, reason))
        return opening

    def close(self) -> None:
        """End the connection after what was submitted before, also one that is still opening. Never raises, never waits for long."""
        with contextlib.suppress(BrokerConnectionLost):
            self.submit(self._close_on_thread)
        self._thread.join(self.io_timeout_s)
        if self._thread.is_alive():
            self.abandon("the broker did not take leave in time")
            self._thread.join(self.io_timeout_s)

    def abandon(self, why: str) -> None:
        """End the connection without a word to the broker. Never raises, never waits."""
        error = pika.exceptions.AMQPHeartbeatTimeout(why)
        with contextlib.suppress(BrokerConnectionLost):
            # What pika's own heartbeat does about a silent peer; there is no public way that does not wait for an answer.
            self.submit(lambda: self._connection._terminate_stream(error))

    def _close_on_thread(self) -> None:
        if not (self._connection.is_closing or self._connection.is_closed):
            self._connection.close()

    def _close_one(self, channel: "AmqpChannel", reason: Exception) -> None:
        self._channels.discard(channel)
        channel.end(repr(reason))

    def _drive(self) -> None:
        loop = self._connection.ioloop
        try:
            loop.start()
        except BaseException as error:  # noqa: BLE001 — pika's loop broke: to everybody who waits that is a lost connection
            self._lose(error)
            with contextlib.suppress(Exception):  # no more than its sockets is at stake
                self._connection._terminate_stream(error)
                loop.start()
        finally:
            loop.close()  # its descriptors: a broker that is down for hours must not use up ours

    def _end(self, error: BaseException) -> None:
        self._lose(error)
        self._connection.ioloop.stop()

    def _lose(self, error: BaseException) -> None:
        why = repr(error)
        self._answers.end(why)
        for channel in list(self._channels):
            channel.end(why)


class AmqpChannel:
    """A channel of a connection. `on_end` is called on the driving thread, once, when it is no good any more, for whatever reason."""

    def __init__(self, connection: AmqpConnection, *, on_end: Callable[[], None] = lambda: None) -> None:
        """Open it.

        Raises:
            BrokerConnectionLost: the connection is gone; if only because the broker did not answer in time.
        """
        self._connection = connection
        self._on_end = on_end
        self._answers = Answers()
        self._amqp: Channel | None = None
        opened = self._answers.expect()
        connection.submit(lambda: self._open(opened))
        self._await_answer(opened)

    @property
    def amqp(self) -> Channel:
        """The driver's channel, for the driving thread."""
        assert self._amqp is not None, "a channel is used after it was opened"
        return self._amqp

    def ask(self, start: Callable[[Channel, Callable[[Any], object]], object]) -> Any:
        """Start something on the driving thread and wait for what it calls back with.

        Raises:
            BrokerConnectionLost: the channel is gone; if only because the broker did not answer in time.
        """
        answer = self._answers.expect()

        def begin() -> None:
            try:
                start(self.amqp, lambda value: settle(answer, value))
            except pika.exceptions.AMQPError as error:
                fail(answer, repr(error))

        self._connection.submit(begin)
        return self._await_answer(answer)

    def expect(self) -> Future[Any]:
        """A future that fails when the channel ends.

        Raises:
            BrokerConnectionLost: it has ended.
        """
        return self._answers.expect()

    def wait(self, answer: Future[Any], timeout_s: float) -> Any:
        """See Answers.wait."""
        return self._answers.wait(answer, timeout_s)

    def submit(self, action: Callable[[Channel], object]) -> None:
        """Have the driving thread do it; nobody waits for it.

        Raises:
            BrokerConnectionLost: the channel or the connection is gone.
        """
        self.check()
        self._connection.submit(lambda: action(self.amqp))

    def check(self) -> None:
        """Nothing, while the channel is there.

        Raises:
            BrokerConnectionLost: it is not.
        """
        self._answers.check()

    def end(self, why: str) -> None:
        """On the driving thread only: it is no good any more."""
        if self._answers.end(why):
            self._on_end()

    def close(self) -> None:
        """Let go of it: what was not acknowledged goes back to the queue. Never raises."""
        with contextlib.suppress(BrokerConnectionLost):
            self._connection.submit(self._close_on_thread)

    def _await_answer(self, answer: Future[Any]) -> Any:
        """What the broker answers; one that does not is given up, channel, connection and all.

        Else what was asked for may still come about: a consumer that nobody listens to, and that holds messages.
        """
        try:
            return self._answers.wait(answer, self._connection.io_timeout_s)
        except BrokerConnectionLost as error:
            if not answer.done():
                self._connection.abandon(error.why)
            raise

    def _open(self, opened: Future[Any]) -> None:
        try:
            self._amqp = self._connection.open_on_thread(self, lambda _: settle(opened, None))
        except pika.exceptions.AMQPError as error:
            self.end(repr(error))

    def _close_on_thread(self) -> None:
        if self._amqp is not None and not (self._amqp.is_closing or self._amqp.is_closed):
            self._amqp.close()


def settle(answer: Future[Any], value: object) -> None:
    """The answer has come; unless it came to something before."""
    with contextlib.suppress(InvalidStateError):
        answer.set_result(value)


def fail(answer: Future[Any], why: str) -> None:
    """The answer will not come."""
    with contextlib.suppress(InvalidStateError):
        answer.set_exception(BrokerConnectionLost(why))


def parameters_of(url: str, name: str, *, io_timeout_s: float) -> pika.URLParameters:
    """How to connect: with heartbeats, and with a bound on every wait.

    Raises:
        ValueError: the URL is none of a broker.
    """
    if not url.startswith(("amqp://", "amqps://")):
        raise ValueError("the URL of a broker begins with amqp:// or amqps://")
    parameters = pika.URLParameters(url)
    parameters.heartbeat = HEARTBEAT_S
    parameters.socket_timeout = io_timeout_s
    parameters.stack_timeout = io_timeout_s
    parameters.blocked_connection_timeout = io_timeout_s
    parameters.client_properties = {"connection_name": name}
    return parameters
