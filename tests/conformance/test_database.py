"""What the simulation says of InnoDB under READ COMMITTED is what MariaDB or MySQL does."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from reference_impl.rows.database_clock import now_us
from tests.conformance.conftest import Conform
from tests.conformance.worlds import Clients, numbered, things

A_WHILE_S = 0.3
LOCK_WAIT_TIMEOUT, DEADLOCK = 1205, 1213


def add(clients: Clients, *rows: tuple[int, str, str]) -> None:
    with clients.engine().begin() as connection:
        for id_, owner, name in rows:
            connection.execute(insert(things).values(id=id_, owner=owner, name=name))


def owners(connection: Connection) -> dict[int, str]:
    return {row.id: row.owner for row in connection.execute(select(things.c.id, things.c.owner).order_by(things.c.id))}


def take(connection: Connection, id_: int, owner: str, *, from_: str | None = None) -> int:
    """How many rows a conditional update matched."""
    statement = update(things).where(things.c.id == id_).values(owner=owner)
    if from_ is not None:
        statement = statement.where(things.c.owner == from_)
    return connection.execute(statement).rowcount


def code(error: object) -> object:
    return error.orig.args[0] if isinstance(error, DBAPIError) and error.orig is not None else error


def test_the_count_of_an_update_is_of_the_rows_that_matched(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "a", "x"))
        with clients.engine().begin() as connection:
            assert take(connection, 1, "b", from_="a") == 1
            assert take(connection, 1, "c", from_="a") == 0
            assert take(connection, 1, "b", from_="b") == 1  # matched, although nothing changes
            assert take(connection, 2, "b") == 0

    conform(body)


def test_what_is_not_committed_only_its_own_transaction_sees(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "a", "x"))
        with clients.engine().connect() as writer, clients.engine().connect() as reader:
            take(writer, 1, "b")
            own, other = owners(writer), owners(reader)
            writer.commit()
            later = owners(reader)  # READ COMMITTED: the same transaction sees it at its next statement

        assert (own, other, later) == ({1: "b"}, {1: "a"}, {1: "b"})

    conform(body)


def test_what_is_rolled_back_never_was(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "a", "x"), (2, "a", "y"))
        with clients.engine().connect() as connection:
            take(connection, 1, "b")
            connection.execute(delete(things).where(things.c.id == 2))
            connection.execute(insert(things).values(id=3, owner="b", name="z"))
            assert owners(connection) == {1: "b", 3: "b"}
            connection.rollback()

            assert owners(connection) == {1: "a", 2: "a"}

    conform(body)


def both(
    clients: Clients, first: Callable[[Connection], Any], second: Callable[[Connection], Any], *, commits: bool = True
) -> list[Any]:
    """`first` in a transaction that stays open; `second` in another that begins meanwhile; then the first ends.

    What `second` returned, whether it had by the time the first ended, and what it raised.
    """
    written, connected, seen = clients.signal(), clients.signal(), clients.signal()
    done: list[str] = []

    def one() -> bool:
        with clients.engine().connect() as connection:
            first(connection)
            written.give()
            connected.wait()  # on a busy machine a new connection may take longer than the rest below
            clients.rest(A_WHILE_S)
            waited = not done
            connection.commit() if commits else connection.rollback()
            seen.give()
            return waited

    def other() -> Any:
        written.wait()
        with clients.engine().connect() as connection:
            connected.give()
            result = second(connection)
            done.append("done")
            connection.commit()
            return result

    return clients.together(one, other)


def test_a_writer_of_the_same_row_waits_and_then_looks_again(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "nobody", "x"))

        waited, count = both(
            clients, lambda one: take(one, 1, "a", from_="nobody"), lambda two: take(two, 1, "b", from_="nobody")
        )

        assert (waited, count) == (True, 0)

    conform(body)


def test_a_writer_of_the_same_row_waits_and_wins_where_the_first_takes_it_back(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "nobody", "x"))

        waited, count = both(
            clients,
            lambda one: take(one, 1, "a", from_="nobody"),
            lambda two: take(two, 1, "b", from_="nobody"),
            commits=False,
        )

        assert (waited, count) == (True, 1)

    conform(body)


def test_a_writer_of_another_row_does_not_wait(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "nobody", "x"), (2, "nobody", "y"))

        waited, count = both(clients, lambda one: take(one, 1, "a"), lambda two: take(two, 2, "b"))

        assert (waited, count) == (False, 1)

    conform(body)


def test_a_reader_does_not_wait(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "nobody", "x"))

        waited, seen = both(clients, lambda one: take(one, 1, "a"), owners)

        assert (waited, seen) == (False, {1: "nobody"})

    conform(body)


@pytest.mark.parametrize("commits", [True, False])
def test_the_second_of_the_same_key_waits_to_learn_whether_there_is_a_first(conform: Conform, commits: bool) -> None:
    def body(clients: Clients) -> None:
        def create(id_: int) -> Callable[[Connection], Any]:
            return lambda connection: connection.execute(insert(things).values(id=id_, owner="a", name="same")).rowcount

        waited, end = both(clients, create(1), create(2), commits=commits)

        assert waited
        assert isinstance(end, IntegrityError) if commits else end == 1

    conform(body)


def test_who_waits_for_a_lock_too_long_is_told_1205_and_its_transaction_goes_on(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "nobody", "x"), (2, "nobody", "y"))
        written, given_up = clients.signal(), clients.signal()

        def holder() -> None:
            with clients.engine().connect() as connection:
                take(connection, 1, "a")
                written.give()
                given_up.wait()
                connection.commit()

        def waiter() -> object:
            written.wait()
            with clients.engine().connect() as connection:
                take(connection, 2, "b")
                try:
                    take(connection, 1, "b")
                except OperationalError as error:
                    return code(error)
                finally:
                    given_up.give()
                    connection.commit()
            return None

        _, told = clients.together(holder, waiter)

        with clients.engine().connect() as connection:
            assert told == LOCK_WAIT_TIMEOUT
            assert owners(connection) == {1: "a", 2: "b"}

    conform(body)


def test_of_two_who_wait_for_one_another_one_is_undone_and_told_1213(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "nobody", "x"), (2, "nobody", "y"))
        signals = clients.signal(), clients.signal()

        def flow(mine: int, other: int) -> Callable[[], object]:
            def run() -> object:
                with clients.engine().connect() as connection:
                    take(connection, mine, f"flow {mine}")
                    signals[mine - 1].give()
                    signals[other - 1].wait()
                    try:
                        count = take(connection, other, f"flow {mine}")
                    except OperationalError as error:
                        connection.rollback()
                        return code(error)
                    connection.commit()
                    return count

            return run

        ends = clients.together(flow(1, 2), flow(2, 1))

        with clients.engine().connect() as connection:
            assert sorted(map(str, ends)) == ["1", str(DEADLOCK)]
            assert len(set(owners(connection).values())) == 1

    conform(body)


def test_a_locking_read_keeps_a_writer_waiting(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "nobody", "x"))

        waited, count = both(
            clients,
            lambda one: one.execute(select(things).where(things.c.id == 1).with_for_update()).all(),
            lambda two: take(two, 1, "b"),
        )

        assert (waited, count) == (True, 1)

    conform(body)


def test_a_locking_read_that_skips_sees_only_what_nobody_holds(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "nobody", "x"), (2, "nobody", "y"))
        free = select(things.c.id).order_by(things.c.id).with_for_update(skip_locked=True)

        waited, seen = both(clients, lambda one: take(one, 1, "a"), lambda two: two.scalars(free).all())

        assert (waited, seen) == (False, [2])

    conform(body)


def test_numbers_are_given_at_the_insert_and_never_again(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        def put(connection: Connection, word: str) -> None:
            connection.execute(insert(numbered).values(word=word))

        with clients.engine().connect() as early, clients.engine().connect() as late:
            put(early, "early")
            put(late, "late")
            put(late, "undone")
            late.commit()
            seen = list(late.execute(select(numbered.c.word).order_by(numbered.c.id)).scalars())
            early.commit()
            put(early, "rolled back")
            early.rollback()
            put(early, "last")
            early.commit()
            rows = early.execute(select(numbered.c.id, numbered.c.word).order_by(numbered.c.id)).all()

        assert seen == ["late", "undone"]  # a row with a lower number is committed only later
        assert [(row.id, row.word) for row in rows] == [(1, "early"), (2, "late"), (3, "undone"), (5, "last")]

    conform(body)


def test_a_statement_knows_the_time_when_it_began_also_when_it_had_to_wait(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        with clients.engine().begin() as connection:
            connection.execute(insert(numbered).values(word="x"))
        stamp = update(numbered).values(at_us=now_us())
        times: list[int] = []

        def wait_and_stamp(connection: Connection) -> int:
            times.append(connection.scalar(select(now_us())) or 0)
            connection.execute(stamp)
            times.append(connection.scalar(select(now_us())) or 0)
            return connection.scalar(select(numbered.c.at_us)) or 0

        _, stamped_us = both(clients, lambda one: one.execute(stamp), wait_and_stamp)

        began_us, ended_us = times
        assert began_us <= stamped_us
        assert ended_us - stamped_us > A_WHILE_S * 1e6 / 2

    conform(body)


def test_a_connection_that_is_closed_takes_its_open_transaction_with_it(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "nobody", "x"))
        connection = clients.engine().connect()
        take(connection, 1, "a")

        connection.invalidate()
        clients.rest(A_WHILE_S)

        with clients.engine().begin() as other:
            assert take(other, 1, "b", from_="nobody") == 1

    conform(body)


def test_a_database_that_was_killed_keeps_what_was_committed_and_nothing_else(conform: Conform) -> None:
    def body(clients: Clients) -> None:
        add(clients, (1, "nobody", "x"))
        engine = clients.engine()
        with engine.connect() as connection:
            take(connection, 1, "a")
            with clients.down("mysql"), pytest.raises(DBAPIError) as told:
                take(connection, 1, "b")
            assert told.value.connection_invalidated

        with engine.connect() as connection:
            assert owners(connection) == {1: "nobody"}

    conform(body)
