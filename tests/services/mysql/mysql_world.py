"""What the tests of the database port share: tasks, claims, fences, and a connection over a wire."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pymysql
from sqlalchemy import Connection, Engine, select, text

from chaos.services.addresses import MysqlAddress
from reference_impl.adapters.mysql import mysql_engine
from reference_impl.adapters.system import SystemEntropy
from reference_impl.rows import outbox, schema, store
from reference_impl.rows.submission import Submission, Submitted, submit
from reference_impl.rows.transactions import transact
from reference_impl.task import Claim
from tests.services.wire import Wire

IO_TIMEOUT_S = 10.0


SHORT_S = 1.0
"""For what is to time out."""


CONTENDERS = 6


SECOND_US = 1_000_000


def through(wire: Wire, address: MysqlAddress, *, io_timeout_s: float = IO_TIMEOUT_S) -> Engine:
    far = replace(address, host="127.0.0.1", port=wire.port)
    engine = mysql_engine(far.url, pool_size=2, io_timeout_s=io_timeout_s)
    engine.connect().close()  # setting the isolation level commits, too
    return engine


def send(
    engine: Engine, key: str, *, payload: Any = None, user: str = "u", payload_bytes_max: int = 65536
) -> Submitted:
    submission = Submission(user, "probe", payload or {}, key=key)
    return submit(
        engine, SystemEntropy(), submission, actor="api", work_queue="tasks", payload_bytes_max=payload_bytes_max
    )


def claim(engine: Engine, task_id: str, owner: str = "worker-1", *, lease_s: float = 60.0) -> Claim | None:
    task = transact(engine, lambda connection: store.claim(connection, task_id, owner=owner, lease_s=lease_s))
    return None if task is None else Claim(task, owner, held_until_s=0.0)


def put_fence(name: str, fence: int = 1) -> Callable[[Connection], None]:
    def work(connection: Connection) -> None:
        connection.execute(schema.fences.insert().values(name=name, fence=fence, owner="x"))

    return work


def fences(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {row.name: row.fence for row in connection.execute(select(schema.fences))}


def is_commit(data: bytes) -> bool:
    """A COM_QUERY packet: 3 bytes of length, a sequence number, 3, and the statement."""
    return data[4:] == b"\x03COMMIT"


def await_lock_wait(engine: Engine) -> None:
    """Until some transaction waits for a lock; at the latest when the server would give it up."""
    query = text("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")
    pause = threading.Event()
    for _ in range(100):
        with engine.connect() as connection:
            if connection.scalar(query):
                return
        pause.wait(0.15)  # the server renews this table only if nobody has looked at it for a tenth of a second
    raise AssertionError("the cancellation did not wait")


def put(engine: Engine, task: str) -> None:
    transact(engine, lambda connection: outbox.put(connection, task, "tasks", trace_id="t"))


def claim_rows(connection: Connection, name: str) -> list[str]:
    ids = [row.id for row in outbox.claim_batch(connection, name, rows_max=10, claim_s=60.0)]
    return list(connection.scalars(select(schema.outbox.c.task_id).where(schema.outbox.c.id.in_(ids))))


def login(address: MysqlAddress) -> Any:
    return pymysql.connect(
        host=address.host, port=address.port, user=address.user, password=address.password, autocommit=True
    )
