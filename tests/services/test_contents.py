"""What services hold for a run is read from real ones: messages, keys and rows, whatever type they are of."""

from collections.abc import Iterator
from contextlib import closing

import pika
import pymysql
import pytest
import redis

from chaos.environment import Services
from chaos.environments import hosted
from chaos.environments.external import ExternalEnvironment
from chaos.environments.local import LocalEnvironment
from chaos.services.contents import TIMEOUT_S, ServiceItem
from chaos.services.postgresql.client import connected

pytestmark = pytest.mark.services


@pytest.fixture
def services(local: LocalEnvironment) -> Iterator[Services]:
    provided = local.provision("test_contents")
    yield provided
    local.provision("test_contents")


def contents_of(local: LocalEnvironment, services: Services, service: str) -> list[ServiceItem]:
    return [content for content in local.contents(services) if content.place.startswith(service)]


def test_a_fresh_namespace_holds_nothing(local: LocalEnvironment, services: Services) -> None:
    assert list(local.contents(services)) == []


def test_every_message_of_every_queue_is_read_and_stays(local: LocalEnvironment, services: Services) -> None:
    assert services.rabbitmq is not None
    with closing(pika.BlockingConnection(pika.URLParameters(services.rabbitmq.url))) as connection:
        channel = connection.channel()
        for queue in ("jobs", "letters"):
            channel.queue_declare(queue, durable=True)
        channel.confirm_delivery()
        properties = pika.BasicProperties(headers={"id": "task-0001"})
        channel.basic_publish("", "jobs", b"first", properties)
        channel.basic_publish("", "jobs", b"\xff second")

    first = contents_of(local, services, "rabbitmq")
    again = contents_of(local, services, "rabbitmq")

    assert [content.place for content in first] == ["rabbitmq queue jobs"] * 2
    assert "task-0001" in (first[0].text or "")
    assert "second" in (first[1].text or "")
    assert [content.place for content in again] == ["rabbitmq queue jobs, delivered before"] * 2


def test_every_kind_of_key_is_read(local: LocalEnvironment, services: Services) -> None:
    assert services.redis is not None
    with closing(redis.Redis(services.redis.host, services.redis.port)) as client:
        prefix = services.namespace
        client.set(f"{prefix}:s", b"\xff string")
        client.rpush(f"{prefix}:l", "item one", "item two")
        client.sadd(f"{prefix}:u", "member")
        client.hset(f"{prefix}:h", mapping={"field": "value"})
        client.zadd(f"{prefix}:z", {"scored": 1.5})
        client.xadd(f"{prefix}:x", {"job": "entry"})

    found = contents_of(local, services, "redis")

    for kind, text in {
        "string": "string",
        "list": "item two",
        "set": "member",
        "hash": "field value",
        "zset": "scored",
        "stream": "entry",
    }.items():
        assert any(one.place.startswith(f"redis {kind} ") and text in (one.text or "") for one in found), kind


def test_every_row_is_read_with_bytes_and_times_in_it(local: LocalEnvironment, services: Services) -> None:
    assert services.mysql is not None
    address = services.mysql
    with (
        closing(
            pymysql.connect(
                host=address.host,
                port=address.port,
                user=address.user,
                password=address.password,
                database=address.database,
                autocommit=True,
            )
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("CREATE TABLE `odd ``name` (id INT, payload BLOB, at DATETIME)")
        cursor.execute("INSERT INTO `odd ``name` VALUES (1, 'task-0001', '2026-01-02 03:04:05')")

    (row,) = contents_of(local, services, "mysql")

    assert row.place == "mysql table odd `name"
    assert "task-0001" in (row.text or "")
    assert "2026-01-02 03:04:05" in (row.text or "")


def test_every_row_of_every_schema_is_read_once(local: LocalEnvironment, services: Services) -> None:
    assert services.postgresql is not None
    with connected(services.postgresql, TIMEOUT_S) as connection:
        connection.run("""CREATE TABLE "odd ""name" (id INT, payload BYTEA, document JSONB, at TIMESTAMPTZ)""")
        connection.run("""INSERT INTO "odd ""name" VALUES (1, 'task-0001', '{"of": "task-0002"}', 'infinity')""")
        connection.run("CREATE SCHEMA jobs; CREATE TABLE jobs.queue (id INT) PARTITION BY LIST (id)")
        connection.run("CREATE TABLE jobs.queue_7 PARTITION OF jobs.queue FOR VALUES IN (7)")
        connection.run("INSERT INTO jobs.queue VALUES (7)")

    queued, odd = contents_of(local, services, "postgresql")

    assert queued == ServiceItem("postgresql table jobs.queue_7", '{"id": 7}')
    assert odd.place == 'postgresql table odd "name'
    assert "task-0001" in (odd.text or "")
    assert "task-0002" in (odd.text or "")


def test_what_cannot_be_read_is_said(local: LocalEnvironment, services: Services) -> None:
    assert services.rabbitmq is not None
    with ExternalEnvironment(rabbitmq_url=services.rabbitmq.url) as outside:
        (item,) = outside.contents(outside.provision("test_contents_outside"))

    assert item.text is None
    assert "its queues cannot be listed" in item.place


def test_reading_a_service_is_bounded(
    local: LocalEnvironment, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert services.redis is not None
    with closing(redis.Redis(services.redis.host, services.redis.port)) as client:
        client.rpush(f"{services.namespace}:l", *range(100))
    monkeypatch.setattr(hosted, "SERVICE_TIMEOUT_S", 0.0)

    found = contents_of(local, services, "redis")

    assert len(found) == 2
    assert found[1].text is None
    assert "not read to the end" in found[1].place
