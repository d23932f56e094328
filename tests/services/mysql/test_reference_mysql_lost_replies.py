"""Lost connections and lost replies over a real server: what is unknown is called unknown, and repeated without harm."""

from contextlib import closing

import pytest
from sqlalchemy import Engine, func, select, text

from chaos.services.addresses import MysqlAddress
from reference_impl.errors import CommitUnknown, DatabaseUnavailable
from reference_impl.rows import schema, settlement
from reference_impl.rows.transactions import transact
from reference_impl.rows.transitions import audit_trail
from tests.services.mysql.mysql_world import (
    CONTENDERS,
    SHORT_S,
    claim,
    fences,
    is_commit,
    login,
    put_fence,
    send,
    through,
)
from tests.services.wire import Wire

pytestmark = pytest.mark.services


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
    assert again is (settlement.Settled.NOT_HELD if delivered else settlement.Settled.SUCCEEDED)
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
