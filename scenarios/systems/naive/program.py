"""The naive task system: the documents' example code, taken literally, as processes (schema, api, worker).

Every defect is intentional, and no worse than in the code that it imitates. `docs/naive.md` lists them.
"""

import contextlib
import hashlib
import json
import os
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pika
import pika.exceptions
import pymysql
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

NEW_TASKS_PER_MINUTE = 20
PROGRESS_EXPIRY_S = 7200

SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    id CHAR(36) PRIMARY KEY,
    user_id VARCHAR(64) NOT NULL,
    request_hash CHAR(64) NOT NULL,
    status VARCHAR(16) NOT NULL,
    payload TEXT NOT NULL,
    error TEXT,
    updated DATETIME(6) NOT NULL,
    UNIQUE (user_id, request_hash)
)
"""


class NaiveServices:
    """Connections to the services, from the NAIVE_* variables that the plug-in sets."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.mysql: dict[str, Any] = json.loads(environment["NAIVE_MYSQL"])
        self.rabbitmq_url = environment["NAIVE_RABBITMQ"]
        self.queue = environment["NAIVE_QUEUE"]
        self.redis = _redis(environment)

    @contextlib.contextmanager
    def database(self) -> Iterator[Any]:
        """A cursor in a transaction, committed at the end."""
        connection = pymysql.connect(**self.mysql, read_timeout=5, write_timeout=5)
        try:
            with connection.cursor() as cursor:
                yield cursor
            connection.commit()
        finally:
            connection.close()

    def channel(self) -> Any:
        """A channel on a new connection, with the queue declared."""
        channel = pika.BlockingConnection(pika.URLParameters(self.rabbitmq_url)).channel()
        channel.queue_declare(self.queue, durable=True)
        return channel


def _redis(environment: Mapping[str, str]) -> redis.Redis:
    """A client through the Sentinels, if there are any."""
    sentinels = [tuple(address) for address in json.loads(environment["NAIVE_SENTINELS"])]
    # The clients that the documents use do not retry commands; redis-py does by default.
    options: dict[str, Any] = {"socket_timeout": 2.0, "retry": Retry(NoBackoff(), 0)}
    if not sentinels:
        return redis.Redis.from_url(environment["NAIVE_REDIS"], **options)
    sentinel = Sentinel(sentinels, sentinel_kwargs=options, **options)  # type: ignore[no-untyped-call]
    primary: redis.Redis = sentinel.master_for(environment["NAIVE_PRIMARY"])  # type: ignore[no-untyped-call]
    return primary


class UnconfirmedPublisher:
    """Publishes without confirms; a broken connection is detected only by a failing publish."""

    def __init__(self, services: NaiveServices) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._channel: Any = None

    def send(self, task_id: str) -> None:
        """Publish the task's id."""
        with self._lock:
            try:
                if self._channel is None:
                    self._channel = self._services.channel()
                self._channel.basic_publish("", self._services.queue, task_id, pika.BasicProperties(delivery_mode=2))
            except pika.exceptions.AMQPError:
                self._channel = None
                raise


def may_submit(services: NaiveServices, user_id: str) -> bool:
    """INCR, then EXPIRE: two commands."""
    key = f"{services.queue}:limit:{user_id}"
    count = services.redis.incr(key)
    if count == 1:
        services.redis.expire(key, 60)
    return int(count) <= NEW_TASKS_PER_MINUTE


def submit(services: NaiveServices, publisher: UnconfirmedPublisher, user_id: str, payload: Mapping[str, Any]) -> str:
    """Insert the row and commit, then publish a message with its id."""
    task_id = str(uuid.uuid4())
    text = json.dumps(payload, sort_keys=True)
    request_hash = hashlib.sha256(text.encode()).hexdigest()
    with services.database() as cursor:
        cursor.execute(
            "INSERT INTO tasks (id, user_id, request_hash, status, payload, updated)"
            " VALUES (%s, %s, %s, 'ACCEPTED', %s, UTC_TIMESTAMP(6))",
            (task_id, user_id, request_hash, text),
        )
    publisher.send(task_id)
    return task_id


def consume(services: NaiveServices, task_id: str) -> None:
    """Claim by a conditional update, run the handler, set the final state by id alone."""
    with services.database() as cursor:
        claimed = cursor.execute(
            "UPDATE tasks SET status = 'RUNNING', updated = UTC_TIMESTAMP(6) WHERE id = %s AND status = 'ACCEPTED'",
            (task_id,),
        )
        if claimed == 0:
            return
        cursor.execute("SELECT payload FROM tasks WHERE id = %s", (task_id,))
        payload = json.loads(cursor.fetchone()[0])
    try:
        execute(services, task_id, payload)
    except Exception as error:
        set_status(services, task_id, "FAILED", str(error))
        raise
    set_status(services, task_id, "SUCCEEDED", None)


def execute(services: NaiveServices, task_id: str, payload: Mapping[str, Any]) -> None:
    """Run the lab's handler; the design passes neither an idempotency key nor a fence."""
    import tasklab_probe

    def report(step: str, percent: int) -> None:
        key = f"{services.queue}:progress:{task_id}"
        services.redis.hset(key, "step", step)
        services.redis.hset(key, "percent", percent)
        services.redis.expire(key, PROGRESS_EXPIRY_S)

    tasklab_probe.run_task(payload, report=report)


def set_status(services: NaiveServices, task_id: str, status: str, error: str | None) -> None:
    """Update by id, without a condition on the state."""
    with services.database() as cursor:
        cursor.execute(
            "UPDATE tasks SET status = %s, error = %s, updated = UTC_TIMESTAMP(6) WHERE id = %s",
            (status, error, task_id),
        )


def run_worker(services: NaiveServices) -> None:
    """Acknowledge after the work; on an exception, return the message to the broker."""

    def on_message(channel: Any, method: Any, _properties: Any, body: bytes) -> None:
        try:
            consume(services, body.decode())
        except (pika.exceptions.AMQPError, KeyboardInterrupt):
            raise
        except Exception as error:  # noqa: BLE001 — as a listener container: any exception returns the message
            print(f"task {body.decode()}: {error!r}", flush=True)
            channel.basic_nack(method.delivery_tag, requeue=True)
        else:
            channel.basic_ack(method.delivery_tag)

    while True:
        try:
            channel = services.channel()
            channel.basic_qos(prefetch_count=10)
            channel.basic_consume(services.queue, on_message)
            channel.start_consuming()
        except (pika.exceptions.AMQPError, OSError) as error:
            print(f"connection to the broker lost, retrying in 1 s: {error!r}", flush=True)
            time.sleep(1.0)  # as a listener container does


def run_api(services: NaiveServices, port: int) -> None:
    """An HTTP API of the reference's form."""
    import uvicorn
    from fastapi import FastAPI, HTTPException

    app = FastAPI()
    publisher = UnconfirmedPublisher(services)

    @app.post("/tasks", status_code=202)
    def post(body: dict[str, Any]) -> dict[str, str]:
        if not may_submit(services, body["user_id"]):
            raise HTTPException(429)
        return {"id": submit(services, publisher, body["user_id"], body["payload"]), "status": "ACCEPTED"}

    @app.get("/tasks/{task_id}")
    def get(task_id: str) -> dict[str, str]:
        with services.database() as cursor:
            cursor.execute("SELECT status FROM tasks WHERE id = %s", (task_id,))
            row = cursor.fetchone()
        if row is None:
            raise HTTPException(404)
        return {"id": task_id, "status": row[0]}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def main() -> None:
    """`python -m scenarios.systems.naive.program schema|api|worker`."""
    services = NaiveServices(os.environ)
    role = sys.argv[1]
    if role == "schema":
        with services.database() as cursor:
            cursor.execute(SCHEMA)
    elif role == "api":
        run_api(services, int(os.environ["NAIVE_PORT"]))
    elif role == "worker":
        run_worker(services)


if __name__ == "__main__":
    main()
