"""Races over a real server, each contender with a connection of its own: the database decides who wins."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, select

from reference_impl.retry import Failure
from reference_impl.rows import cancellation, outbox, schema, settlement, store
from reference_impl.rows.cancellation import Cancelled
from reference_impl.rows.submission import Submitted
from reference_impl.rows.transactions import transact
from reference_impl.task import TaskState
from tests.services.mysql.mysql_world import CONTENDERS, await_lock_wait, claim, claim_rows, put, send

pytestmark = pytest.mark.services


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
