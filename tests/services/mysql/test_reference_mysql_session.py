"""A session over a real server: its clock, its types, and how it counts rows."""

import time
from contextlib import closing

import pytest
from sqlalchemy import Engine, select

from chaos.services.addresses import MysqlAddress
from reference_impl.adapters.mysql import mysql_engine
from reference_impl.rows import schema, store
from reference_impl.rows.database_clock import now_us
from reference_impl.rows.transactions import transact
from tests.services.mysql.mysql_world import IO_TIMEOUT_S, SECOND_US, claim, login, put_fence, send

pytestmark = pytest.mark.services


def test_a_session_is_read_committed_in_utc_and_waits_for_locks_shorter_than_its_client_waits_for_it(
    engine: Engine,
) -> None:
    """R24."""
    with engine.connect() as connection:
        said = connection.exec_driver_sql("SELECT @@tx_isolation, @@time_zone, @@innodb_lock_wait_timeout").one()

    assert tuple(said) == ("READ-COMMITTED", "+00:00", int(IO_TIMEOUT_S / 2))


@pytest.mark.parametrize("zone", ["+09:00", "-03:30", "SYSTEM"])
def test_now_is_the_server_s_clock_whatever_zone_it_is_in(address: MysqlAddress, zone: str) -> None:
    """R24: the same microseconds since 1970 as this machine's, which is the server's."""
    with closing(login(address)) as administrator, administrator.cursor() as cursor:
        cursor.execute("SET GLOBAL time_zone = %s", (zone,))
        engine = mysql_engine(address.url, pool_size=1, io_timeout_s=IO_TIMEOUT_S)
        with engine.connect() as connection:
            before_us = time.time_ns() // 1000
            now = connection.scalar(select(now_us()))
            after_us = time.time_ns() // 1000
        engine.dispose()
        cursor.execute("SET GLOBAL time_zone = 'SYSTEM'")

    assert isinstance(now, int)
    assert before_us <= now <= after_us


def test_an_update_that_changes_nothing_still_counts_its_row(engine: Engine) -> None:
    """R2: rows are counted as matched, so who won is decided by conditions and never by values."""
    transact(engine, put_fence("a"))
    statement = schema.fences.update().where(schema.fences.c.name == "a").values(fence=1)

    assert [transact(engine, lambda connection: connection.execute(statement).rowcount) for _ in range(2)] == [1, 1]


def test_names_that_differ_in_case_or_accent_are_different(engine: Engine) -> None:
    """R1, R8."""
    ids = {send(engine, "k", user=user).task.id for user in ("alice", "Alice", "alicé")}

    assert len(ids) == 3


def test_a_payload_as_large_as_is_allowed_is_kept_whole(engine: Engine) -> None:
    """R25."""
    payload = {"text": "x" * 1_000_000, "more": "\u00e9\u4e2d\U0001f600" * 1000}

    task = send(engine, "k", payload=payload, payload_bytes_max=1 << 20).task

    assert task.payload == payload


def test_a_lease_runs_out_by_the_server_s_clock(engine: Engine) -> None:
    """R24: nothing of this process's own clock is written or compared."""
    task_id = send(engine, "k").task.id
    before_us = time.time_ns() // 1000
    claim(engine, task_id, lease_s=30.0)

    row = transact(engine, lambda connection: store.find(connection, task_id))

    assert row is not None
    assert row.lease_expires_us is not None
    assert before_us <= row.lease_expires_us - 30 * SECOND_US <= time.time_ns() // 1000
