"""An open connection of the lab's own through a link: what a fault of the network does to it is what the linked process sees."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

import pymysql
import redis
from pamqp import commands
from pamqp.exceptions import PAMQPException

from chaos.deadline import Deadline
from chaos.environment import MysqlAddress, RabbitmqAddress, RedisAddress
from chaos.services.mysql import server as mysql
from chaos.services.rabbitmq.amqp_client import AmqpClient
from chaos.services.redis.server import client

QOS_ANSWER_BYTES = 12  # the whole frame of basic.qos-ok
Address = MysqlAddress | RedisAddress | RabbitmqAddress


class Exchange(Protocol):
    """A connection on which one thing can be asked after the other; every error is a TimeoutError or a ConnectionError."""

    def ask(self, reply_bytes: int = 0) -> float:
        """Seconds until the answer to a question was there, an answer of at least so many bytes."""

    def close(self) -> None:
        """Hang up, without a word where the other side does not listen any more."""


def open_exchange(address: Address, timeout_s: float) -> Exchange:
    """A new connection to the service at that address; each step, and each question later, takes `timeout_s` at most."""
    with _told_as_os_errors():
        match address:
            case MysqlAddress():
                return MysqlExchange(address, timeout_s)
            case RedisAddress():
                return RedisExchange(address, timeout_s)
            case RabbitmqAddress():
                return RabbitmqExchange(address, timeout_s)


class MysqlExchange:
    """Asks for a text of some length."""

    def __init__(self, address: MysqlAddress, timeout_s: float) -> None:
        self._connection = mysql.connect(address, timeout_s)

    def ask(self, reply_bytes: int = 0) -> float:
        """See `Exchange.ask`."""
        began_s = time.monotonic()
        with _told_as_os_errors(), self._connection.cursor() as cursor:
            cursor.execute("SELECT REPEAT('x', %s)", (reply_bytes,))
            cursor.fetchall()
        return time.monotonic() - began_s

    def close(self) -> None:
        """See `Exchange.close`."""
        with suppress(pymysql.MySQLError):  # it was closed by the error that it ended with
            self._connection.close()


class RedisExchange:
    """Has a text said back."""

    def __init__(self, address: RedisAddress, timeout_s: float) -> None:
        self._client = client(address.host, address.port, timeout_s)
        try:
            self._client.ping()
        except redis.RedisError:
            self._client.close()
            raise

    def ask(self, reply_bytes: int = 0) -> float:
        """See `Exchange.ask`."""
        began_s = time.monotonic()
        with _told_as_os_errors():
            self._client.echo("x" * reply_bytes)
        return time.monotonic() - began_s

    def close(self) -> None:
        """See `Exchange.close`."""
        self._client.close()


class RabbitmqExchange:
    """Sets the same limit again and again, which has no effect but its confirmations."""

    def __init__(self, address: RabbitmqAddress, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._client = AmqpClient(address, Deadline.after(timeout_s))
        self._client.open()

    def ask(self, reply_bytes: int = 0) -> float:
        """See `Exchange.ask`."""
        began_s = time.monotonic()
        with _told_as_os_errors():
            self._client.extend(Deadline.after(self._timeout_s))
            questions = 1 + reply_bytes // QOS_ANSWER_BYTES
            self._client.call_many([commands.Basic.Qos(prefetch_count=1)] * questions, commands.Basic.QosOk)
        return time.monotonic() - began_s

    def close(self) -> None:
        """See `Exchange.close`."""
        self._client.hang_up()


@contextmanager
def _told_as_os_errors() -> Iterator[None]:
    """Each driver has errors of its own; what matters here is whether nothing came, or the connection broke."""
    try:
        yield
    except (OSError, redis.RedisError, pymysql.MySQLError, PAMQPException) as error:
        timed_out = isinstance(error, TimeoutError | redis.TimeoutError) or "timed out" in str(error)
        raise (TimeoutError if timed_out else ConnectionError)(str(error) or type(error).__name__) from error
