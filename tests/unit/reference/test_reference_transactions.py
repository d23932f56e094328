"""A transaction is committed, certainly not committed, or unknown; only one that was certainly rolled back is retried."""

import threading
from collections.abc import Callable
from typing import Any

import pymysql
import pytest
from sqlalchemy import Connection, event, select, text
from sqlalchemy.exc import DataError, IntegrityError, OperationalError
from sqlalchemy.pool import QueuePool

from reference_impl.adapters.sqlite import sqlite_engine
from reference_impl.errors import CommitUnknown, DatabaseUnavailable
from reference_impl.rows import schema
from reference_impl.rows.transactions import TRIES_MAX, read, transact
from tests.unit.reference.reference_world import CommitReplies, World

DEADLOCK = pymysql.err.OperationalError(1213, "Deadlock found when trying to get lock; try restarting transaction")
LOCK_WAIT = pymysql.err.OperationalError(1205, "Lock wait timeout exceeded; try restarting transaction")
LOST = pymysql.err.OperationalError(2013, "Lost connection to MySQL server during query")
REFUSED = pymysql.err.OperationalError(2003, "Can't connect to MySQL server")
KILLED = pymysql.err.OperationalError(1927, "Connection was killed")


def put_name(name: str) -> Callable[[Connection], str]:
    def work(connection: Connection) -> str:
        connection.execute(schema.fences.insert().values(name=name, fence=1, owner="x"))
        return name

    return work


def names(world: World) -> list[str]:
    with world.engine.connect() as connection:
        return list(connection.scalars(select(schema.fences.c.name)))


class Failing:
    """Work that the database fails at, as often as there are errors, after having done its write."""

    def __init__(self, *errors: Exception, broken: bool = False) -> None:
        self._errors = list(errors)
        self._broken = broken
        self.runs = 0

    def __call__(self, connection: Connection) -> str:
        self.runs += 1
        put_name("a")(connection)
        if self._errors:
            error = self._errors.pop(0)
            raise OperationalError("UPDATE", {}, error, connection_invalidated=self._broken)
        return "done"


@pytest.mark.parametrize("error", [DEADLOCK, LOCK_WAIT])
def test_what_the_server_undid_is_run_again_as_a_whole(world: World, error: Exception) -> None:
    """R2: 1205 undoes one statement only, so the rest of the transaction must go, too."""
    work = Failing(error, error)

    assert transact(world.engine, work) == "done"
    assert work.runs == 3
    assert names(world) == ["a"]


def test_a_connection_that_broke_before_the_commit_is_tried_again(world: World) -> None:
    """A pooled connection that the server closed long ago shows itself at the first statement."""
    work = Failing(LOST, broken=True)

    assert transact(world.engine, work) == "done"
    assert names(world) == ["a"]


@pytest.mark.parametrize(
    ("error", "broken", "runs"),
    [(DEADLOCK, False, TRIES_MAX), (LOST, True, TRIES_MAX), (REFUSED, False, 1), (KILLED, False, 1)],
)
def test_what_does_not_heal_is_unavailable_and_nothing_is_committed(
    world: World, error: Exception, broken: bool, runs: int
) -> None:
    """R8: `definite`: it surely did not happen."""
    work = Failing(*[error] * 9, broken=broken)

    with pytest.raises(DatabaseUnavailable) as failure:
        transact(world.engine, work)

    assert failure.value.definite
    assert work.runs == runs
    assert names(world) == []


@pytest.mark.parametrize("committed", [True, False])
def test_a_commit_without_an_answer_is_unknown_and_not_run_again(world: World, committed: bool) -> None:
    """R8: running it again could do it twice."""
    CommitReplies(world.engine).lose(committed)

    with pytest.raises(CommitUnknown) as failure:
        transact(world.engine, put_name("a"))

    assert not failure.value.definite
    assert names(world) == (["a"] if committed else [])


@pytest.mark.parametrize(
    ("answer", "ends"),
    [
        (DEADLOCK, "done"),
        (LOCK_WAIT, "done"),
        (LOST, "unknown"),
        (KILLED, "unknown"),
        (pymysql.err.InternalError("Packet sequence number wrong"), "unknown"),
        (pymysql.err.InterfaceError(0, ""), "unknown"),
    ],
)
def test_an_answer_to_a_commit_means_no_only_where_it_leaves_no_doubt(
    world: World, monkeypatch: pytest.MonkeyPatch, answer: Exception, ends: str
) -> None:
    """R8: a server on its way down answers with errors, too, also after it has committed."""
    answers = [answer]
    commit = world.engine.dialect.do_commit

    def do_commit(connection: Any) -> None:
        if answers:
            raise OperationalError("COMMIT", {}, answers.pop())
        commit(connection)

    monkeypatch.setattr(world.engine.dialect, "do_commit", do_commit)

    def outcome() -> str:
        try:
            transact(world.engine, put_name("a"))
        except CommitUnknown:
            return "unknown"
        return "done"

    assert outcome() == ends
    assert names(world) == (["a"] if ends == "done" else [])


@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt(), SystemExit()])
def test_whatever_ends_the_work_undoes_it_and_frees_the_connection(world: World, error: BaseException) -> None:
    """R3."""

    def work(connection: Connection) -> None:
        put_name("a")(connection)
        raise error

    with pytest.raises(type(error)):
        transact(world.engine, work)

    assert names(world) == []
    assert world.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("error", [IntegrityError, DataError])
def test_a_mistake_in_the_data_is_the_caller_s_and_not_run_again(world: World, error: Any) -> None:
    runs: list[int] = []

    def work(connection: Connection) -> None:
        runs.append(1)
        raise error("INSERT", {}, Exception("x"))

    with pytest.raises(error):
        transact(world.engine, work)

    assert runs == [1]


def test_an_exhausted_pool_is_unavailable_after_a_bounded_wait(world: World) -> None:
    """R24."""
    engine = sqlite_engine(world.url, io_timeout_s=1.0, poolclass=QueuePool)
    engine.pool._timeout = 0.01  # type: ignore[attr-defined]
    held = [engine.connect() for _ in range(engine.pool.size() + engine.pool._max_overflow)]  # type: ignore[attr-defined]

    with pytest.raises(DatabaseUnavailable, match="QueuePool limit"):
        transact(engine, lambda _: None)

    for connection in held:
        connection.close()
    engine.dispose()


def test_reading_commits_nothing_so_it_can_only_be_unavailable(world: World) -> None:
    CommitReplies(world.engine).lose(True)

    assert read(world.engine, lambda connection: connection.scalar(text("SELECT 7"))) == 7
    with pytest.raises(DatabaseUnavailable):
        read(world.engine, Failing(REFUSED))
    read(world.engine, put_name("a"))
    assert names(world) == []


def test_whoever_only_reads_waits_for_no_writer_and_sees_what_is_committed(world: World) -> None:
    """R29: a status page must not wait for a worker, nor a worker for a status page."""
    transact(world.engine, put_name("committed"))
    impatient = sqlite_engine(world.url, io_timeout_s=0.0)
    with world.engine.connect() as writer:
        put_name("open")(writer)

        seen = read(impatient, lambda connection: list(connection.scalars(select(schema.fences.c.name))))

        writer.rollback()
    impatient.dispose()
    assert seen == ["committed"]


def test_what_is_told_of_an_error_holds_no_parameters(world: World) -> None:
    """R18: parameters may contain a payload. Even if the engine does not hide them, the message holds only the driver's text."""

    @event.listens_for(world.engine, "before_cursor_execute")
    def refuse(*_: Any) -> None:
        raise OperationalError("INSERT ...", {"payload": "s3cr3t"}, Exception("disk full"))

    with pytest.raises(DatabaseUnavailable) as failure:
        transact(world.engine, put_name("s3cr3t"))

    assert "s3cr3t" in str(failure.value.__cause__)
    assert "disk full" in str(failure.value)
    assert "s3cr3t" not in str(failure.value)


def test_an_error_that_is_logged_whole_holds_no_parameters(world: World) -> None:
    """R18."""
    transact(world.engine, put_name("s3cr3t"))

    with pytest.raises(IntegrityError) as failure:
        transact(world.engine, put_name("s3cr3t"))

    assert "s3cr3t" not in str(failure.value)


def test_writers_of_one_file_wait_their_turn(world: World) -> None:
    """R29: no two transactions meet half-way and fail, so none has to be run again."""
    runs: list[int] = []
    engines = [world.open_engine() for _ in range(4)]
    with world.engine.begin() as connection:
        connection.execute(schema.fences.insert().values(name="n", fence=0, owner=""))

    def count_up(number: int) -> None:
        def work(connection: Connection) -> None:
            runs.append(number)
            fence = connection.scalar(select(schema.fences.c.fence))
            assert fence is not None
            connection.execute(schema.fences.update().values(fence=fence + 1))

        for _ in range(25):
            transact(engines[number], work)

    threads = [threading.Thread(target=count_up, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for engine in engines:
        engine.dispose()

    with world.engine.connect() as connection:
        assert connection.scalar(select(schema.fences.c.fence)) == 100
    assert len(runs) == 100


def test_the_words_of_the_driver_are_cut(world: World) -> None:
    def work(_: Connection) -> None:
        raise OperationalError("x", {}, Exception("e" * 5000))

    with pytest.raises(DatabaseUnavailable) as failure:
        transact(world.engine, work)

    assert len(str(failure.value)) < 300
