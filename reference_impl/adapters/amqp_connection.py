"""A connection to RabbitMQ, driven by its own thread so that long handlers miss no heartbeat, and channels with blocking calls.

pika calls back only on the driving thread. A thread that waits for an answer does so with a time-out, and is woken at once when its
channel or the connection is lost.
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
"""The broker closes a connection after two missed heartbeats; pika detects a silent broker after the same time."""
REASON_CHARACTERS_MAX = 200


class PendingAnswers:
    """Futures that callers wait for and the driving thread completes; all fail together when the channel or connection ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._awaited: set[Future[Any]] = set()
        self._ended_by: str | None = None

    def check(self) -> None:
        """Raise if no answer can arrive any more.

        Raises:
            BrokerConnectionLost: the channel or connection has ended.
        """
        if self._ended_by is not None:
            raise BrokerConnectionLost(self._ended_by)

    def expect(self) -> Future[Any]:
        """A new future for the driving thread to complete.

        Raises:
            BrokerConnectionLost: the channel or connection has ended.
        """
        answer: Future[Any] = Future()
        with self._lock:
            self.check()
            self._awaited.add(answer)
        return answer

    def wait(self, answer: Future[Any], timeout_s: float) -> Any:
        """Wait for the future and return its result.

        Raises:
            BrokerConnectionLost: the channel or connection ended, or no answer arrived in time.
        """
        try:
            return answer.result(timeout_s)
        except FutureTimeout as error:
            raise BrokerConnectionLost(f"no answer within {timeout_s:g} s") from error
        finally:
            with self._lock:
                self._awaited.discard(answer)

    def end(self, why: str) -> bool:
        """Fail all pending and future answers with this reason; False: they had already been ended."""
        with self._lock:
            if self._ended_by is not None:
                return False
            self._ended_by = why[:REASON_CHARACTERS_MAX]
            awaited = list(self._awaited)
        for answer in awaited:
            fail(answer, self._ended_by)
        return True


class AmqpConnection:
    """An open connection. It is never reopened: after a loss the owner creates a new one."""

    def __init__(self, parameters: pika.URLParameters, name: str, *, io_timeout_s: float) -> None:
        """Connect.

        Raises:
            BrokerUnavailable: the broker refused, or did not answer within `io_timeout_s`.
        """
        self.io_timeout_s = io_timeout_s
        self._answers = PendingAnswers()
        self._channels: set[AmqpChannel] = set()  # used only by the driving thread
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
        """Whether no loss of the connection has been detected."""
        try:
            self._answers.check()
        except BrokerConnectionLost:
            return False
        return True

    def submit(self, action: Callable[[], object]) -> None:
        """Run the action on the driving thread, without waiting.

        Raises:
            BrokerConnectionLost: the connection is lost.
        """
        self._answers.check()

        def guarded() -> None:
            # If the channel or connection has closed meanwhile, its own close callback informs the waiting threads.
            with contextlib.suppress(pika.exceptions.AMQPError):
                action()

        self._connection.ioloop.add_callback_threadsafe(guarded)

    def open_on_thread(self, channel: "AmqpChannel", on_open: Callable[[Channel], None]) -> Channel:
        """Driving thread only: start opening a channel, which ends together with this connection."""
        opening: Channel = self._connection.channel(on_open_callback=on_open)
        self._channels.add(channel)
        opening.add_on_close_callback(lambda _, reason: self._close_one(channel, reason))
        return opening

    def close(self) -> None:
        """Close the connection after all submitted actions, even if it is still opening. Never raises; waits at most 2 × `io_timeout_s`."""
        with contextlib.suppress(BrokerConnectionLost):
            self.submit(self._close_on_thread)
        self._thread.join(self.io_timeout_s)
        if self._thread.is_alive():
            self.abandon("the broker did not answer the close request in time")
            self._thread.join(self.io_timeout_s)

    def abandon(self, why: str) -> None:
        """Drop the connection without a message to the broker. Never raises, never waits."""
        error = pika.exceptions.AMQPHeartbeatTimeout(why)
        with contextlib.suppress(BrokerConnectionLost):
            # pika's heartbeat checker does the same to a silent peer; every public method waits for an answer.
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
        except BaseException as error:  # noqa: BLE001 — pika's loop failed: for all waiting threads the connection is lost
            self._lose(error)
            with contextlib.suppress(Exception):  # only its sockets may leak
                self._connection._terminate_stream(error)
                loop.start()
        finally:
            loop.close()  # frees its descriptors: a long outage of the broker must not exhaust them

    def _end(self, error: BaseException) -> None:
        self._lose(error)
        self._connection.ioloop.stop()

    def _lose(self, error: BaseException) -> None:
        why = repr(error)
        self._answers.end(why)
        for channel in list(self._channels):
            channel.end(why)


class AmqpChannel:
    """A channel of a connection. `on_end` is called once, on the driving thread, when the channel ends for any reason."""

    def __init__(self, connection: AmqpConnection, *, on_end: Callable[[], None] = lambda: None) -> None:
        """Open the channel.

        Raises:
            BrokerConnectionLost: the connection is lost, or the broker did not answer in time.
        """
        self._connection = connection
        self._on_end = on_end
        self._answers = PendingAnswers()
        self._amqp: Channel | None = None
        opened = self._answers.expect()
        connection.submit(lambda: self._open(opened))
        self._await_answer(opened)

    @property
    def amqp(self) -> Channel:
        """pika's channel, for use on the driving thread."""
        assert self._amqp is not None, "a channel is used after it was opened"
        return self._amqp

    def ask(self, start: Callable[[Channel, Callable[[Any], object]], object]) -> Any:
        """Run `start` on the driving thread, wait for its callback, and return the callback's argument.

        Raises:
            BrokerConnectionLost: the channel is lost, or the broker did not answer in time.
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
            BrokerConnectionLost: the channel has ended.
        """
        return self._answers.expect()

    def wait(self, answer: Future[Any], timeout_s: float) -> Any:
        """As `PendingAnswers.wait`."""
        return self._answers.wait(answer, timeout_s)

    def submit(self, action: Callable[[Channel], object]) -> None:
        """Run the action on the driving thread, without waiting.

        Raises:
            BrokerConnectionLost: the channel or the connection is lost.
        """
        self.check()
        self._connection.submit(lambda: action(self.amqp))

    def check(self) -> None:
        """Raise if the channel has ended.

        Raises:
            BrokerConnectionLost: the channel has ended.
        """
        self._answers.check()

    def end(self, why: str) -> None:
        """Driving thread only: mark the channel as ended."""
        if self._answers.end(why):
            self._on_end()

    def close(self) -> None:
        """Close the channel; the broker requeues its unacknowledged messages. Never raises."""
        with contextlib.suppress(BrokerConnectionLost):
            self._connection.submit(self._close_on_thread)

    def _await_answer(self, answer: Future[Any]) -> Any:
        """Wait for the broker's answer. If none arrives, drop the whole connection.

        Otherwise the broker might still execute the request later: a consumer that nothing reads would then hold messages.
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
    """Complete the answer, unless it is already complete."""
    with contextlib.suppress(InvalidStateError):
        answer.set_result(value)


def fail(answer: Future[Any], why: str) -> None:
    """Fail the answer, unless it is already complete."""
    with contextlib.suppress(InvalidStateError):
        answer.set_exception(BrokerConnectionLost(why))


def parameters_of(url: str, name: str, *, io_timeout_s: float) -> pika.URLParameters:
    """Connection parameters with heartbeats and a time-out for every wait.

    Raises:
        ValueError: not an AMQP URL.
    """
    if not url.startswith(("amqp://", "amqps://")):
        raise ValueError("the URL of a broker must begin with amqp:// or amqps://")
    parameters = pika.URLParameters(url)
    parameters.heartbeat = HEARTBEAT_S
    parameters.socket_timeout = io_timeout_s
    parameters.stack_timeout = io_timeout_s
    parameters.blocked_connection_timeout = io_timeout_s
    parameters.client_properties = {"connection_name": name}
    return parameters
