"""The database port over a real server: its clock, its locks, its lost replies; and what the code decides by them."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, event, func, inspect, select, text

from chaos.environment import MysqlAddress, Services
from chaos.environments.local import LocalEnvironment
from reference_impl import migrations
from reference_impl.adapters.mysql import mysql_engine
from reference_impl.adapters.system import SystemEntropy
from reference_impl.errors import CommitUnknown, DatabaseUnavailable
from reference_impl.migrations import migrate
from reference_impl.retry import Failure
from reference_impl.rows import cancellation, outbox, schema, settlement, store, transactions
from reference_impl.rows.cancellation import Cancelled
from reference_impl.rows.database_clock import now_us
from reference_impl.rows.submission import Submission, Submitted, submit
from reference_impl.rows.transactions import transact
from reference_impl.rows.transitions import audit_trail
from reference_impl.task import Claim, TaskState
from tests.services.wire import Wire

pytestmark = pytest.mark.services

IO_TIMEOUT_S = 10.0
SHORT_S = 1.0
"""For what is to time out."""
CONTENDERS = 6
SECOND_US = 1_000_000


@pytest.fixture(scope="module")
def address(local: LocalEnvironment) -> MysqlAddress:
    services = local.provision("test_reference_mysql")
    assert services.mysql is not None
    return services.mysql


@pytest.fixture(scope="module")
def migrated(address: MysqlAddress) -> Iterator[Engine]:
    """Making the tables takes the server a second: once for all tests."""
    made = mysql_engine(address.url, pool_size=CONTENDERS, io_timeout_s=IO_TIMEOUT_S)
    migrate(made)
    yield made
    made.dispose()


@pytest.fixture
def engine(migrated: Engine) -> Engine:
    """With empty tables."""
    with migrated.begin() as connection:
        for table in schema.metadata.tables.values():
            connection.execute(table.delete())
    return migrated


@pytest.fixture
def wire(address: MysqlAddress) -> Iterator[Wire]:
    with closing(Wire((address.host, address.port))) as opened:
        yield opened


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


# The session


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


# Migrations


def alembic(engine: Engine) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["engine"] = engine
    return config


def test_the_migrations_make_what_the_code_knows(engine: Engine) -> None:
    """R1: the same on MySQL and MariaDB as on SQLite."""
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []


def test_every_migration_can_be_undone_and_done_again(provision: Callable[..., Services]) -> None:
    """R1."""
    services = provision()
    assert services.mysql is not None
    engine = mysql_engine(services.mysql.url, pool_size=1, io_timeout_s=IO_TIMEOUT_S)
    migrate(engine)
    command.downgrade(alembic(engine), "base")
    left = set(inspect(engine).get_table_names())

    migrate(engine)

    made = set(inspect(engine).get_table_names())
    engine.dispose()
    assert left == {"alembic_version"}
    assert made == {"alembic_version", *schema.metadata.tables}


# Locks


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


# Lost connections


@pytest.mark.parametrize("delivered", [True, False])
def test_a_commit_whose_reply_was_lost_is_unknown_and_may_be_there_or_not(
    address: MysqlAddress, engine: Engine, wire: Wire, delivered: bool
) -> None:
    """R8, R13: cut after COMMIT was sent; both happen, and nobody on this side can tell which."""
    far = through(wire, address)
    transact(far, put_fence("warm"))
    wire.cut_at(is_commit, delivered=delivered)

    with pytest.raises(CommitUnknown) as lost:
        transact(far, put_fence("a"))

    far.dispose()
    assert wire.cuts == 1
    assert not lost.value.definite
    assert fences(engine) == ({"warm": 1, "a": 1} if delivered else {"warm": 1})


@pytest.mark.parametrize("delivered", [True, False])
def test_a_submission_whose_commit_reply_was_lost_makes_one_task_and_one_message(
    address: MysqlAddress, engine: Engine, wire: Wire, delivered: bool
) -> None:
    """R8, R13."""
    far = through(wire, address)
    wire.cut_at(is_commit, delivered=delivered)

    done = send(far, "k")

    far.dispose()
    assert wire.cuts == 1
    assert done.created
    with engine.connect() as connection:
        counts = [connection.scalar(select(func.count()).select_from(table)) for table in (schema.tasks, schema.outbox)]
    assert counts == [1, 1]


@pytest.mark.parametrize("delivered", [True, False])
def test_a_settlement_whose_commit_reply_was_lost_settles_once(
    address: MysqlAddress, engine: Engine, wire: Wire, delivered: bool
) -> None:
    """R10."""
    held = claim(engine, send(engine, "k").task.id)
    assert held is not None
    far = through(wire, address)
    wire.cut_at(is_commit, delivered=delivered)

    def settle() -> settlement.Settled:
        return transact(far, lambda connection: settlement.settle_success(connection, held, {"done": 1}))

    with pytest.raises(CommitUnknown):
        settle()
    again = settle()

    far.dispose()
    assert again is settlement.Settled.SUCCEEDED
    trail = transact(engine, lambda connection: audit_trail(connection, held.task.id))
    assert [row["to_status"] for row in trail] == ["ACCEPTED", "RUNNING", "SUCCEEDED"]


def test_a_connection_cut_before_the_commit_is_definite_and_tried_again(
    address: MysqlAddress, engine: Engine, wire: Wire
) -> None:
    far = through(wire, address)
    wire.cut_at(lambda data: b"INSERT INTO fences" in data, delivered=True)

    transact(far, put_fence("a"))

    far.dispose()
    assert wire.cuts == 1
    assert fences(engine) == {"a": 1}


def test_connections_that_the_server_closed_while_they_were_idle_cost_nothing(
    address: MysqlAddress, engine: Engine
) -> None:
    """A server that restarted, or closed what was idle: the whole pool is stale at once."""
    held = [engine.connect() for _ in range(CONTENDERS)]
    ids = [connection.scalar(text("SELECT CONNECTION_ID()")) for connection in held]
    for connection in held:
        connection.close()
    with closing(login(address)) as administrator, administrator.cursor() as cursor:
        for id_ in ids:
            cursor.execute(f"KILL {id_}")

    for number in range(CONTENDERS):
        transact(engine, put_fence(f"f{number}"))

    assert len(fences(engine)) == CONTENDERS


def test_a_server_that_says_nothing_is_unavailable_after_a_bounded_wait(
    address: MysqlAddress, engine: Engine, wire: Wire
) -> None:
    """R24: PyMySQL's own read time-out is none."""
    far = through(wire, address, io_timeout_s=SHORT_S)
    transact(far, put_fence("warm"))
    wire.hold_answers()

    with pytest.raises(DatabaseUnavailable):
        transact(far, put_fence("a"))

    wire.let_answers_through()
    far.dispose()
    assert fences(engine) == {"warm": 1}


# Races, each contender with a connection of its own


def test_of_many_who_claim_at_once_exactly_one_wins(engine: Engine) -> None:
    """R2."""
    ids = [send(engine, f"k{number}").task.id for number in range(10)]
    together = threading.Barrier(CONTENDERS)

    def claim_all(number: int) -> list[str]:
        won = []
        for id_ in ids:
            together.wait()
            if claim(engine, id_, f"worker-{number}"):
                won.append(id_)
        return won

    with ThreadPoolExecutor(CONTENDERS) as pool:
        won = [id_ for one in pool.map(claim_all, range(CONTENDERS)) for id_ in one]

    assert sorted(won) == sorted(ids)


def test_many_who_submit_the_same_at_once_get_one_task(engine: Engine) -> None:
    """R8: the unique key decides, also between two who both looked and found nothing."""
    together = threading.Barrier(CONTENDERS)

    def send_all(_: int) -> list[Submitted]:
        done = []
        for number in range(8):
            together.wait()
            done.append(send(engine, f"k{number}"))
        return done

    with ThreadPoolExecutor(CONTENDERS) as pool:
        by_sender = list(pool.map(send_all, range(CONTENDERS)))

    for answers in zip(*by_sender, strict=True):
        assert len({answer.task.id for answer in answers}) == 1
        assert [answer.created for answer in answers].count(True) == 1
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(schema.outbox)) == 8


def test_a_cancellation_in_the_middle_of_a_settlement_waits_for_it_and_is_not_forgotten(engine: Engine) -> None:
    """R16: read committed would let it in between two statements."""
    held = claim(engine, send(engine, "k").task.id)
    assert held is not None
    answers: list[Cancelled] = []
    canceller = threading.Thread(target=lambda: answers.append(cancellation.cancel(engine, held.task.id, actor="api")))
    asked = threading.Event()

    def meanwhile(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("UPDATE tasks") and "CANCELLED" in str(parameters) and not asked.is_set():
            asked.set()
            canceller.start()
            await_lock_wait(engine)

    event.listen(engine, "before_cursor_execute", meanwhile)
    settled = transact(
        engine,
        lambda connection: settlement.settle_failure(
            connection,
            held,
            Failure("transient", "Busy", ""),
            attempts_max=5,
            delay_s=60.0,
            work_queue="tasks",
            dead_queue="dead",
        ),
    )
    canceller.join()
    event.remove(engine, "before_cursor_execute", meanwhile)

    assert (settled, answers) == (settlement.Settled.RETRYING, [Cancelled.DONE])
    row = transact(engine, lambda connection: store.find(connection, held.task.id))
    assert row is not None
    assert row.status is TaskState.CANCELLED


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


def test_relays_do_not_wait_for_one_another_and_never_hold_the_same_row(engine: Engine) -> None:
    """R13."""
    put(engine, "a")
    put(engine, "b")
    with engine.connect() as first:
        held = claim_rows(first, "relay-1")
        put(engine, "c")
        second = transact(engine, lambda connection: claim_rows(connection, "relay-2"))
        first.commit()

    assert (held, second) == (["a", "b"], ["c"])
    assert transact(engine, lambda connection: claim_rows(connection, "relay-3")) == []


def test_a_row_that_commits_late_with_a_lower_id_is_not_skipped(engine: Engine) -> None:
    """R13: ids are given at the insert, rows are seen at the commit."""
    with engine.connect() as late:
        outbox.put(late, "late", "tasks", trace_id="t")
        put(engine, "early")
        first = transact(engine, lambda connection: claim_rows(connection, "relay-1"))
        late.commit()
    second = transact(engine, lambda connection: claim_rows(connection, "relay-1b"))

    with engine.connect() as connection:
        ids = {row.task_id: row.id for row in connection.execute(select(schema.outbox))}
    assert ids["late"] < ids["early"]
    assert (first, second) == (["early"], ["late"])


def test_a_lease_runs_out_by_the_server_s_clock(engine: Engine) -> None:
    """R24: nothing of this process's own clock is written or compared."""
    task_id = send(engine, "k").task.id
    before_us = time.time_ns() // 1000
    claim(engine, task_id, lease_s=30.0)

    row = transact(engine, lambda connection: store.find(connection, task_id))

    assert row is not None
    assert row.lease_expires_us is not None
    assert before_us <= row.lease_expires_us - 30 * SECOND_US <= time.time_ns() // 1000


def login(address: MysqlAddress) -> Any:
    return pymysql.connect(
        host=address.host, port=address.port, user=address.user, password=address.password, autocommit=True
    )
