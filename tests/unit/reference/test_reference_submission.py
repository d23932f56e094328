"""Submitting creates one task a user and key, with its message, whatever is repeated, raced or lost."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import event, func, select
from sqlalchemy.exc import OperationalError

from reference_impl.errors import (
    CommitUnknown,
    DatabaseUnavailable,
    KeyConflict,
    PayloadTooLarge,
    RateLimited,
    RequestInvalid,
)
from reference_impl.rows import schema, store, submission
from reference_impl.rows.submission import Submission, Submitted, submit
from tests.unit.reference.reference_world import CommitReplies, World


def send(world: World, given: Submission, **options: Any) -> Submitted:
    return submit(
        world.engine, world.names, given, actor="api", work_queue="tasks", **{"payload_bytes_max": 1000, **options}
    )


def count(world: World) -> tuple[int, int, int]:
    """Tasks, outbox rows, audit rows."""
    with world.engine.connect() as connection:
        tables = (schema.tasks, schema.outbox, schema.audit)
        return tuple(connection.scalar(select(func.count()).select_from(table)) for table in tables)  # type: ignore[return-value]


ONE = Submission("alice", "mail", {"to": "bob"}, key="k1")


def test_a_task_its_audit_row_and_its_message_are_made_together(world: World) -> None:
    """R8, R13."""
    done = send(world, ONE)

    message = world.outbox()[0]
    assert done.created
    assert world.trail(done.task) == ["ACCEPTED"]
    assert (message.task_id, message.queue, message.status) == (done.task.id, "tasks", "PENDING")
    assert done.task.id in message.body
    assert count(world) == (1, 1, 1)


@pytest.mark.parametrize("table", ["outbox", "audit"])
def test_nothing_is_made_where_any_part_fails(world: World, table: str) -> None:
    """R13: both or neither."""

    @event.listens_for(world.engine, "before_cursor_execute")
    def refuse(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(f"INSERT INTO {table}"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        send(world, ONE)

    assert count(world) == (0, 0, 0)


@pytest.mark.parametrize(
    "again",
    [
        ONE,
        Submission("alice", "mail", {"to": "bob"}, key="k1", trace_id="another-trace"),
    ],
)
def test_the_same_request_with_the_same_key_is_the_same_task(world: World, again: Submission) -> None:
    """R8."""
    first = send(world, ONE)

    second = send(world, again)

    assert (second.task, second.created) == (first.task, False)
    assert count(world) == (1, 1, 1)


@pytest.mark.parametrize(
    "other",
    [
        Submission("alice", "mail", {"to": "carol"}, key="k1"),
        Submission("alice", "post", {"to": "bob"}, key="k1"),
        Submission("alice", "mail", {"to": "bob"}, key="k1", priority=3),
        Submission("alice", "mail", {"to": "bob"}, key="k1", deadline_s=60.0),
    ],
)
def test_the_same_key_for_another_request_is_a_conflict(world: World, other: Submission) -> None:
    """R8: 409."""
    first = send(world, ONE)

    with pytest.raises(KeyConflict) as refusal:
        send(world, other)

    assert refusal.value.task_id == first.task.id
    assert refusal.value.definite
    assert count(world) == (1, 1, 1)


def test_without_a_key_the_same_request_is_the_same_task(world: World) -> None:
    """R8: same user and same request hash."""
    keyless = Submission("alice", "mail", {"a": 1, "b": 2})
    first = send(world, keyless)

    second = send(world, Submission("alice", "mail", {"b": 2, "a": 1}))
    others = [
        send(world, Submission("bob", "mail", {"a": 1, "b": 2})),
        send(world, Submission("alice", "mail", {"a": 1})),
        send(world, Submission("alice", "mail", {"a": 1, "b": 2}, key="k")),
        send(world, Submission("alice", "mail", {"a": 1, "b": 2}, priority=1)),
    ]

    assert (second.task, second.created) == (first.task, False)
    assert len({first.task.id, *(other.task.id for other in others)}) == 5


def test_a_key_that_reads_like_a_request_is_not_taken_for_it(world: World) -> None:
    """R8: keys and request hashes share a column."""
    plain = send(world, Submission("alice", "key", {"a": 1}))

    keyed = send(world, Submission("alice", "other", {}, key='{"a":1}'))

    assert keyed.created
    assert keyed.task.id != plain.task.id


def test_the_same_key_of_another_user_is_another_task(world: World) -> None:
    """R8."""
    assert send(world, ONE).task.id != send(world, Submission("bob", "mail", {"to": "bob"}, key="k1")).task.id


def test_many_who_submit_the_same_at_once_get_one_task(world: World) -> None:
    """R8: threads with connections of their own."""
    threads = 8
    with ThreadPoolExecutor(threads) as pool:
        for key in ("k1", "k2", "k3"):
            wanted = Submission("alice", "mail", {}, key=key)
            done = list(pool.map(lambda _: send(world, wanted), range(threads)))  # noqa: B023

            assert len({one.task.id for one in done}) == 1
            assert [one.created for one in done].count(True) == 1
    assert count(world) == (3, 3, 3)


def test_a_submission_that_came_in_between_the_look_and_the_insert_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8: the unique key decides."""
    first = send(world, ONE)
    looks = iter(["too early", "too early, too"])
    find_by_key = store.find_by_key

    def look(*given: Any) -> Any:
        return None if next(looks, None) else find_by_key(*given)

    monkeypatch.setattr(store, "find_by_key", look)

    second = send(world, ONE)

    assert (second.task, second.created) == (first.task, False)
    assert count(world) == (1, 1, 1)


@pytest.mark.parametrize("committed", [True, False])
def test_a_commit_whose_answer_was_lost_is_submitted_again_and_makes_one_task(world: World, committed: bool) -> None:
    """R8, R13."""
    replies = CommitReplies(world.engine)
    replies.lose(committed)

    done = send(world, ONE)

    assert replies.lost == 1
    assert done.created
    assert count(world) == (1, 1, 1)


def test_whoever_never_got_an_answer_is_told_that_it_is_unknown(world: World) -> None:
    """R8: 503, `definite` false."""
    CommitReplies(world.engine).lose(*[True] * submission.TRIES_MAX)

    with pytest.raises(CommitUnknown) as lost:
        send(world, ONE)

    assert not lost.value.definite


def test_a_database_that_goes_away_after_an_unknown_commit_makes_nothing_definite(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8: the first try may have created the task, although the second surely did nothing."""
    answers = iter([CommitUnknown("cut"), DatabaseUnavailable("refused")])

    def failing(engine: Any, work: Any) -> Any:
        raise next(answers)

    monkeypatch.setattr(submission, "transact", failing)

    with pytest.raises(CommitUnknown):
        send(world, ONE)


def test_a_refused_submission_makes_nothing(world: World) -> None:
    """R6, R25: a payload too large, one that is no document, a full window."""

    def full() -> None:
        raise RateLimited(3.0)

    with pytest.raises(PayloadTooLarge):
        send(world, Submission("alice", "mail", {"a": "x" * 993}))
    with pytest.raises(RequestInvalid):
        send(world, Submission("alice", "mail", {"a": float("nan")}))
    with pytest.raises(RateLimited):
        send(world, ONE, admit=full)

    assert count(world) == (0, 0, 0)
    assert send(world, Submission("alice", "mail", {"a": "x" * 992})).created, "the bound itself is allowed"


def test_asking_again_is_not_held_to_the_limit_of_new_tasks(world: World) -> None:
    """R6, R8: else a client that never got its answer could use up its limit by asking what became of one task."""
    admitted = []
    for _ in range(3):
        send(world, ONE, admit=lambda: admitted.append(1))

    assert admitted == [1]


def test_an_invalid_submission_is_not_counted(world: World) -> None:
    """R6."""
    admitted: list[int] = []

    with pytest.raises(PayloadTooLarge):
        send(world, Submission("alice", "mail", {"a": "x" * 2000}), admit=lambda: admitted.append(1))

    assert admitted == []


def test_no_limit_is_asked_inside_a_transaction(world: World) -> None:
    """R3: no remote call while a row or a pooled connection is held."""
    in_use: list[int] = []

    send(world, ONE, admit=lambda: in_use.append(world.engine.pool.checkedout()))  # type: ignore[attr-defined]

    assert in_use == [0]


@pytest.mark.parametrize("deadline_s", [0.001, 1.0, 366 * 86400.0])
def test_a_deadline_counts_from_the_database_s_now(world: World, deadline_s: float) -> None:
    """R24."""
    task = send(world, Submission("alice", "mail", {}, deadline_s=deadline_s)).task

    assert task.deadline_us is not None
    assert task.deadline_us - task.created_us == pytest.approx(deadline_s * 1e6, abs=5)


def test_an_error_that_is_no_conflict_is_not_taken_for_one(world: World) -> None:
    @event.listens_for(world.engine, "before_cursor_execute")
    def refuse(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO tasks"):
            raise OperationalError("INSERT", {}, Exception("disk full"))

    with pytest.raises(DatabaseUnavailable):
        send(world, ONE)
