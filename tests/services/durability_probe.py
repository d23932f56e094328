"""A word written into each service, confirmed, and read again: what a kill must not cost."""

from contextlib import closing

import pymysql
from pamqp import commands

from chaos.deadline import Deadline
from chaos.environment import Services
from chaos.ports import LOOPBACK
from chaos.services.addresses import PostgresqlAddress, RabbitmqAddress, RedisAddress
from chaos.services.postgresql.client import connected
from chaos.services.rabbitmq.amqp_client import AmqpClient
from chaos.services.redis.server import ask_primary, client

PATIENCE_S = 60.0


def write_row(services: Services) -> None:
    with closing(connect(services)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept (word TEXT)")
        cursor.execute("INSERT INTO kept VALUES ('kept')")
        connection.commit()


def read_row(services: Services) -> object:
    with closing(connect(services)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT word FROM kept")
        (found,) = cursor.fetchone() or (None,)
        return found


def connect(services: Services) -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
    """To the run's own database."""
    address = services.mysql
    assert address is not None
    return pymysql.connect(
        host=address.host, port=address.port, user=address.user, password=address.password, database=address.database
    )


def write_postgresql_row(services: Services) -> None:
    with connected(postgresql_of(services), PATIENCE_S) as connection:
        connection.run("CREATE TABLE kept (word TEXT)")
        connection.run("INSERT INTO kept VALUES ('kept')")


def read_postgresql_row(services: Services) -> object:
    with connected(postgresql_of(services), PATIENCE_S) as connection:
        ((found,),) = connection.run("SELECT word FROM kept")
        return found


def write_key(services: Services) -> None:
    with closing(client(LOOPBACK, primary_of(services))) as primary:
        primary.set(services.namespace, "kept")


def read_key(services: Services) -> object:
    with closing(client(LOOPBACK, primary_of(services))) as primary:
        return primary.get(services.namespace)


def primary_of(services: Services) -> int:
    """Where it listens, as the Sentinels say, if there are any."""
    address = redis_of(services)
    if not address.sentinels:
        return address.port
    found = ask_primary(address.sentinels, address.primary_name)
    assert found is not None
    return found[1]


def redis_of(services: Services) -> RedisAddress:
    assert services.redis is not None
    return services.redis


def rabbitmq_of(services: Services) -> RabbitmqAddress:
    assert services.rabbitmq is not None
    return services.rabbitmq


def postgresql_of(services: Services) -> PostgresqlAddress:
    assert services.postgresql is not None
    return services.postgresql


def write_message(services: Services) -> None:
    with AmqpClient(rabbitmq_of(services), Deadline.after(PATIENCE_S)) as broker:
        queue = commands.Queue.Declare(queue=services.namespace, durable=True, arguments={"x-queue-type": "quorum"})
        broker.call(queue, commands.Queue.DeclareOk)
        broker.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
        assert broker.publish_confirmed(services.namespace, b"kept")


def read_message(services: Services) -> object:
    with AmqpClient(rabbitmq_of(services), Deadline.after(PATIENCE_S)) as broker:
        found = broker.get(services.namespace)
        return found and found.decode()
