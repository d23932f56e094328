"""A task changes its state by the transitions of the life cycle only, each with its audit row; the affected-row count decides."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from reference_impl.rows import schema, store
from reference_impl.rows.transactions import transact
from reference_impl.rows.transitions import apply, audit_trail, transition
from reference_impl.task import TRANSITIONS, Task, TaskState
from tests.unit.reference.reference_world import World

LEGAL = [(before, after) for before in TaskState for after in TaskState if after in TRANSITIONS[before]]


def put_in(world: World, task: Task, state: TaskState, **values: Any) -> None:
    """Straight into the row, so that a test can begin anywhere."""
    with world.engine.begin() as connection:
        connection.execute(schema.tasks.update().where(schema.tasks.c.id == task.id).values(status=state, **values))


def transitions_of(world: World, task: Task) -> list[tuple[object, ...]]:
    """The audit rows of the task, except that of its creation."""
    rows = transact(world.engine, lambda connection: audit_trail(connection, task.id))[1:]
    return [
        tuple(row[name] for name in ("from_status", "to_status", "attempt", "fence", "actor", "at_us")) for row in rows
    ]


@pytest.mark.parametrize(("before", "after"), LEGAL)
def test_a_transition_happens_from_its_own_state_and_writes_its_audit_row_or_nothing_happens(
    world: World, before: TaskState, after: TaskState
) -> None:
    """R2: what a late or doubled actor tries finds row count zero."""
    step = transition(before, after)
    for state in TaskState:
        task = world.submit()
        put_in(world, task, state, attempt=7, fence=9)

        moved = transact(world.engine, lambda connection: apply(connection, step, task.id, actor="me"))  # noqa: B023

        row = world.find(task)
        assert moved == (state is before)
        assert row.status == (after if moved else state)
        assert transitions_of(world, task) == ([(before, after, 7, 9, "me", row.updated_us)] if moved else [])


def test_a_transition_of_a_task_that_is_not_there_is_none(world: World) -> None:
    step = transition(TaskState.ACCEPTED, TaskState.CANCELLED)

    assert not transact(world.engine, lambda connection: apply(connection, step, "nobody", actor="me"))


@pytest.mark.parametrize("state", list(TaskState))
def test_only_a_waiting_task_can_be_claimed(world: World, state: TaskState) -> None:
    """R2, R16."""
    task = world.submit()
    put_in(world, task, state, next_attempt_us=world.time.now_us)

    claim = world.try_to_claim(task)

    assert (claim is not None) == (state in {TaskState.ACCEPTED, TaskState.RETRYING})


def test_a_claim_raises_fence_and_attempt_and_takes_the_lease(world: World) -> None:
    """R2, R20."""
    task = world.submit()

    claim = world.claim(task, "worker-7")

    row = world.find(task)
    assert (row.status, row.fence, row.attempt, row.attempts_spent) == (TaskState.RUNNING, 1, 1, 1)
    assert row.lease_owner == "worker-7"
    assert row.lease_expires_us is not None
    assert row.lease_expires_us - row.updated_us == pytest.approx(10_000_000, abs=5)
    assert (claim.fence, claim.attempt, claim.owner) == (1, 1, "worker-7")
    assert claim.task == row


def test_a_task_past_its_deadline_cannot_be_claimed(world: World) -> None:
    """R16."""
    task = world.submit(deadline_s=5.0)
    world.time.pass_(5.0)

    assert world.try_to_claim(task) is None


def test_a_retry_cannot_be_claimed_before_it_is_due(world: World) -> None:
    """R15: an early copy of the message is no licence to run."""
    task = world.submit()
    world.fail(world.claim(task), delay_s=2.0)
    world.time.pass_(1.9)
    too_early = world.try_to_claim(task)
    world.time.pass_(0.1)

    claim = world.try_to_claim(task)

    assert too_early is None
    assert claim is not None
    assert (claim.attempt, claim.fence) == (2, 2)


def test_of_many_who_claim_at_once_exactly_one_wins(world: World) -> None:
    """R2: each with a connection of its own, all at the same moment."""
    contenders = 8
    tasks = [world.submit() for _ in range(5)]
    engines = [world.open_engine() for _ in range(contenders)]
    together = threading.Barrier(contenders)

    def claim_all(number: int) -> list[str]:
        won = []
        for task in tasks:
            together.wait()
            if transact(
                engines[number],
                lambda connection: store.claim(connection, task.id, owner=f"worker-{number}", lease_s=10.0),  # noqa: B023
            ):
                won.append(task.id)
        return won

    with ThreadPoolExecutor(contenders) as pool:
        won = [task_id for one in pool.map(claim_all, range(contenders)) for task_id in one]
    for engine in engines:
        engine.dispose()

    assert sorted(won) == sorted(task.id for task in tasks)
    assert {(world.find(task).fence, world.find(task).attempt) for task in tasks} == {(1, 1)}


def test_renewing_moves_the_lease_of_the_holder_and_of_nobody_else(world: World) -> None:
    """R20."""
    task = world.submit()
    claim = world.claim(task)
    world.time.pass_(6.0)

    def renew(fence: int) -> bool:
        return transact(world.engine, lambda connection: store.renew(connection, task.id, fence=fence, lease_s=10.0))

    assert [renew(claim.fence - 1), renew(claim.fence + 1), renew(claim.fence)] == [False, False, True]
    row = world.find(task)
    assert row.lease_expires_us is not None
    assert row.lease_expires_us - world.time.now_us == pytest.approx(10_000_000, abs=10)


def test_an_ended_task_cannot_be_renewed(world: World) -> None:
    """R20."""
    task = world.submit()
    claim = world.claim(task)
    world.succeed(claim)

    assert not transact(
        world.engine, lambda connection: store.renew(connection, task.id, fence=claim.fence, lease_s=10.0)
    )


def test_the_trail_is_read_in_the_order_in_which_it_was_written(world: World) -> None:
    """R1."""
    task = world.submit()
    world.fail(world.claim(task), delay_s=0.0)
    world.time.pass_(0.001)
    world.succeed(world.claim(task, "worker-2"))

    rows = transact(world.engine, lambda connection: audit_trail(connection, task.id))

    assert [(row["to_status"], row["actor"], row["attempt"], row["fence"]) for row in rows] == [
        ("ACCEPTED", "api", 0, 0),
        ("RUNNING", "worker-1", 1, 1),
        ("RETRYING", "worker-1", 1, 1),
        ("RUNNING", "worker-2", 2, 2),
        ("SUCCEEDED", "worker-2", 2, 2),
    ]
    instants = [row["at_us"] for row in rows]
    assert instants == sorted(instants)


def test_a_transaction_that_fails_leaves_neither_the_transition_nor_its_audit_row(world: World) -> None:
    """R2: both or neither."""
    task = world.submit()

    def work(connection: Any) -> None:
        assert apply(connection, transition(TaskState.ACCEPTED, TaskState.CANCELLED), task.id, actor="me")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        transact(world.engine, work)

    assert world.trail(task) == ["ACCEPTED"]
    assert world.find(task).status is TaskState.ACCEPTED


def test_every_instant_is_the_database_s(world: World) -> None:
    """R24: a process whose clock is wrong writes no wrong time."""
    world.time.pass_(1000.0)
    before = world.time.now_us
    task = world.submit(deadline_s=60.0)
    world.claim(task)

    row = world.find(task)

    instants = [row.created_us, row.updated_us, row.enqueued_us, row.last_run_us]
    assert all(before <= instant <= world.time.now_us for instant in instants if instant is not None)
    assert row.deadline_us == pytest.approx(row.created_us + 60_000_000, abs=5)
