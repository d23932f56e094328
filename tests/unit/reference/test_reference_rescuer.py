"""The rescuer repairs abandoned tasks, and leaves recovered ones alone."""

import pytest
from sqlalchemy import update

from reference_impl.rows import cancellation, schema
from reference_impl.rows.transactions import transact
from reference_impl.task import TaskState
from tests.unit.reference.reference_world import AWAY_S, SETTINGS, World


def test_a_healthy_system_is_left_alone(world: World) -> None:
    """R14."""
    fresh, running, waiting, done = (world.submit(deadline_s=3600.0) for _ in range(4))
    world.claim(running)
    world.fail(world.claim(waiting))
    world.succeed(world.claim(done))
    before = [world.find(task) for task in (fresh, running, waiting, done)]
    messages = len(world.outbox())

    world.sweep()

    assert [world.find(task) for task in (fresh, running, waiting, done)] == before
    assert len(world.outbox()) == messages


def test_a_silent_attempt_is_tried_again_at_once_and_counts(world: World) -> None:
    """R14, R15, R20."""
    task = world.submit()
    world.claim(task)
    world.time.pass_(AWAY_S)

    world.sweep()

    row = world.find(task)
    assert (row.status, row.attempts_spent, row.failure_class) == (TaskState.RETRYING, 1, "LeaseExpired")
    assert (row.lease_owner, row.lease_expires_us) == (None, None)
    assert len(world.outbox(task_id=task.id)) == 2
    assert world.claim(task, "worker-2").fence == 2


def test_a_task_that_keeps_silencing_its_worker_is_dead_after_its_last_attempt(world: World) -> None:
    """R10, R12: poison."""
    task = world.submit()
    for _ in range(SETTINGS.attempts_max):
        world.claim(task)
        world.time.pass_(AWAY_S)
        world.sweep()

    letter = world.letters()[0]
    assert world.find(task).status is TaskState.DEAD
    assert (letter.reason, letter.attempts) == ("poison", SETTINGS.attempts_max)
    assert len(world.outbox(queue=SETTINGS.dead_queue)) == 1
    assert world.try_to_claim(task) is None


def test_a_silent_attempt_of_a_withdrawn_task_is_cancelled(world: World) -> None:
    """R16: also if it was the last."""
    task = world.submit()
    for _ in range(SETTINGS.attempts_max - 1):
        world.fail(world.claim(task), delay_s=0.0)
    world.claim(task)
    cancellation.cancel(world.engine, task.id, actor="api")
    world.time.pass_(AWAY_S)

    world.sweep()

    assert world.find(task).status is TaskState.CANCELLED
    assert world.letters() == []


@pytest.mark.parametrize("attempts", [1, SETTINGS.attempts_max])
def test_a_withdrawal_between_the_look_and_the_move_is_not_forgotten(world: World, attempts: int) -> None:
    """R16."""
    task = world.submit()
    for _ in range(attempts - 1):
        world.fail(world.claim(task), delay_s=0.0)
    world.claim(task)
    world.time.pass_(AWAY_S)
    one = world.rescuer()
    seen = transact(world.engine, one._abandoned)
    cancellation.cancel(world.engine, task.id, actor="api")

    moved = [transact(world.engine, lambda connection: one.rescue(connection, task)) for task in seen]  # noqa: B023
    world.sweep()

    assert moved == [False]
    assert world.find(task).status is TaskState.CANCELLED


@pytest.mark.parametrize("state", ["ACCEPTED", "RETRYING", "RUNNING"])
def test_a_task_past_its_deadline_is_expired(world: World, state: str) -> None:
    """R1, R14."""
    task = world.submit(deadline_s=5.0)
    if state == "RETRYING":
        world.fail(world.claim(task), delay_s=0.0)
    elif state == "RUNNING":
        world.claim(task)
    world.time.pass_(5.0)

    world.sweep()

    assert world.trail(task)[-2:] == [state, "EXPIRED"]
    assert world.find(task).lease_owner is None


def test_a_recovered_task_is_left_alone_although_it_was_seen_silent(world: World) -> None:
    """R14: the look is without a lock, the move checks again."""
    renewed, settled, taken_over = (world.submit() for _ in range(3))
    claims = [world.claim(task) for task in (renewed, settled, taken_over)]
    world.time.pass_(AWAY_S)
    one = world.rescuer()
    seen = transact(world.engine, one._abandoned)
    with world.engine.begin() as connection:
        connection.execute(
            update(schema.tasks)
            .where(schema.tasks.c.id == renewed.id)
            .values(lease_expires_us=world.time.now_us + 10**7)
        )
    world.succeed(claims[1])
    world.sweep("other")
    world.claim(taken_over, "worker-2")

    moved = [transact(world.engine, lambda connection: one.rescue(connection, task)) for task in seen]  # noqa: B023

    assert len(seen) == 3
    assert moved == [False] * 3
    assert [world.find(task).status for task in (renewed, settled, taken_over)] == ["RUNNING", "SUCCEEDED", "RUNNING"]


def test_a_task_that_nobody_delivers_is_put_in_the_queue_again_after_a_while_and_not_at_every_sweep(
    world: World,
) -> None:
    """R14: its message was lost with the broker, or swallowed."""
    task = world.submit()
    world.publish()
    world.time.pass_(SETTINGS.undelivered_after_s - 1)
    world.sweep()
    too_early = len(world.outbox(task_id=task.id))
    world.time.pass_(2.0)
    world.sweep()
    world.sweep()
    world.publish()
    again = len(world.outbox(task_id=task.id))
    world.time.pass_(SETTINGS.undelivered_after_s + 1)
    world.sweep()

    assert (too_early, again, len(world.outbox(task_id=task.id))) == (1, 2, 3)


def test_an_overdue_retry_is_put_in_the_queue_again(world: World) -> None:
    """R14: counted from when it was due, not from when it failed."""
    task = world.submit()
    world.fail(world.claim(task), delay_s=100.0)
    world.publish()
    world.time.pass_(100.0 + SETTINGS.undelivered_after_s - 1)
    world.publish()
    world.sweep()
    too_early = len(world.outbox(task_id=task.id))
    world.time.pass_(2.0)
    world.sweep()

    assert (too_early, len(world.outbox(task_id=task.id))) == (2, 3)


def test_nothing_is_put_in_the_queue_again_while_the_relay_is_behind(world: World) -> None:
    """R14: its messages are still to come; more of them would not make it faster."""
    task = world.submit()
    world.time.pass_(SETTINGS.undelivered_after_s + 1)

    world.sweep()

    assert len(world.outbox(task_id=task.id)) == 1


def test_old_messages_are_purged(world: World) -> None:
    done = world.submit()
    world.publish()
    world.succeed(world.claim(done))
    world.time.pass_(SETTINGS.outbox_kept_s + 1)

    world.sweep()

    assert world.outbox() == []
