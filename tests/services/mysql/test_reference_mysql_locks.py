"""Deadlocks and lock waits over a real server: the whole transaction runs again, or is definitely unavailable."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import structs
from sqlalchemy import Connection, Engine, event, text

from chaos.services.addresses import MysqlAddress
from reference_impl.adapters.mysql import mysql_engine
from reference_impl.errors import DatabaseUnavailable
from reference_impl.rows import schema, store, transactions
from reference_impl.rows.transactions import transact
from tests.services.mysql.mysql_world import SHORT_S, fences, put_fence
from tests.unit.reference.reference_world import SETTINGS, World

pytestmark = pytest.mark.services


def test_a_deadlock_s_victim_is_run_again_as_a_whole(engine: Engine) -> None:
    """R2: both transactions are done in the end, each once."""
    transact(engine, put_fence("a", 0))
    transact(engine, put_fence("b", 0))
    both_hold_one = threading.Barrier(2)
    runs: list[str] = []

    def count_up(connection: Connection, name: str) -> None:
        connection.execute(
            schema.fences.update().where(schema.fences.c.name == name).values(fence=schema.fences.c.fence + 1)
        )

    def cross(first: str, second: str) -> None:
        def work(connection: Connection) -> None:
            runs.append(first)
            count_up(connection, first)
            if runs.count(first) == 1:
                both_hold_one.wait()
            count_up(connection, second)

        transact(engine, work)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(cross, "a", "b"), pool.submit(cross, "b", "a")]:
            done.result()

    assert len(runs) == 3, "one of them was the victim"
    assert fences(engine) == {"a": 2, "b": 2}


def test_a_lock_wait_that_ends_undoes_and_repeats_the_whole_transaction(address: MysqlAddress, engine: Engine) -> None:
    """R2: InnoDB itself undoes the one statement only, and a transaction that went on would be half done."""
    transact(engine, put_fence("held", 0))
    impatient = mysql_engine(address.url, pool_size=1, io_timeout_s=2 * SHORT_S)
    holder = engine.connect()
    holder.execute(text("SELECT * FROM fences WHERE name = 'held' FOR UPDATE"))
    codes: list[int] = []

    @event.listens_for(impatient, "handle_error")
    def let_go(context: Any) -> None:
        codes.append(context.original_exception.args[0])
        holder.rollback()

    def work(connection: Connection) -> None:
        put_fence(f"run {len(codes)}")(connection)
        connection.execute(schema.fences.update().where(schema.fences.c.name == "held").values(fence=1))

    transact(impatient, work)
    holder.close()
    impatient.dispose()

    assert codes == [1205]
    assert fences(engine) == {"held": 1, "run 1": 1}


def test_a_lock_that_is_never_let_go_is_unavailable_by_the_server_s_word(
    address: MysqlAddress, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R24: the server gives up before its client does; no session stays behind that waits for the lock."""
    transact(engine, put_fence("held", 0))
    monkeypatch.setattr(transactions, "TRIES_MAX", 1)
    impatient = mysql_engine(address.url, pool_size=1, io_timeout_s=2 * SHORT_S)
    with engine.connect() as holder:
        holder.execute(text("SELECT * FROM fences WHERE name = 'held' FOR UPDATE"))

        with pytest.raises(DatabaseUnavailable, match="Lock wait timeout exceeded"):
            transact(
                impatient,
                lambda connection: connection.execute(schema.fences.update().values(fence=schema.fences.c.fence + 1)),
            )
        waiting = holder.scalar(
            text("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")
        )

    impatient.dispose()
    assert waiting == 0
    assert fences(engine) == {"held": 0}


def test_a_locked_task_does_not_delay_the_rescue_of_others(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """R14: a worker that is paused in the middle of a transaction keeps its row lock, and all that it held has run out of its lease."""
    monkeypatch.setattr(transactions, "TRIES_MAX", 1)
    world = World(None, settings=structs.replace(SETTINGS, lease_s=0.001))
    world.engine.dispose()
    world.engine = engine
    locked, free = (world.claim(world.submit()).task for _ in range(2))
    with engine.connect() as paused:
        store.find_locked(paused, locked.id)

        world.sweep()
        during = [world.find(task).status for task in (locked, free)]
    world.sweep()

    assert during == ["RUNNING", "RETRYING"]
    assert world.find(locked).status == "RETRYING"
