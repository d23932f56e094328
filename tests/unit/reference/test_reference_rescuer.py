"""The rescuer repairs abandoned tasks, leaves recovered ones alone, and does not write once another process leads."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from reference_impl.errors import CacheUnavailable, DatabaseUnavailable
from reference_impl.fast import lock
from reference_impl.loops import rescuer
from reference_impl.loops.rescuer import Rescuer
from reference_impl.rows import cancellation, dead_letter, schema
from reference_impl.rows.transactions import transact
from reference_impl.task import Task, TaskState
from tests.unit.reference.reference_world import SETTINGS, World

AWAY_S = SETTINGS.lease_s + 1


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


def batches_of(world: World, rows_max: int) -> Rescuer:
    """A rescuer that takes so many rows at a time."""
    one = world.rescuer()
    return replace(one, options=replace(one.options, rows_max=rows_max))


def test_a_sweep_goes_on_in_batches_until_nothing_is_left(world: World) -> None:
    """R14: after an outage there are many at once."""
    tasks = [world.submit() for _ in range(5)]
    for task in tasks:
        world.claim(task)
    world.time.pass_(AWAY_S)

    assert batches_of(world, 2).sweep(world.lead())

    assert [world.find(task).status for task in tasks] == ["RETRYING"] * 5
    assert world.metrics.swept.labels("lease ran out")._value.get() == 5


def test_a_sweep_is_bounded_and_the_longest_silent_come_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """R14: a crowd of one kind does not keep the others waiting for ever."""
    monkeypatch.setattr(rescuer, "ROUNDS_MAX", 2)
    tasks = [world.submit() for _ in range(5)]
    for task in tasks:
        world.claim(task)
    overdue = world.submit(deadline_s=1.0)
    world.time.pass_(AWAY_S)
    held = world.lead()

    one = batches_of(world, 2)
    progress = []
    for _ in range(2):
        assert one.sweep(held)
        progress.append([world.find(task).status == "RETRYING" for task in tasks])

    assert progress == [[True] * 4 + [False], [True] * 5]
    assert world.find(overdue).status is TaskState.EXPIRED


def test_tasks_that_cannot_be_mended_do_not_keep_a_sweep_from_its_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R14: each recovered between the look and the move."""
    for task in [world.submit() for _ in range(4)]:
        world.claim(task)
    world.time.pass_(AWAY_S)
    one = batches_of(world, 2)
    tried: list[str] = []

    def recovered(_self: Rescuer, _connection: Any, task: Task) -> bool:
        tried.append(task.id)
        return False

    monkeypatch.setattr(Rescuer, "rescue", recovered)

    assert one.sweep(world.lead())
    assert len(tried) == 2


def test_more_old_messages_than_a_batch_are_purged_in_one_sweep(world: World) -> None:
    """R13: else a busy system's outbox would grow for ever."""
    for _ in range(7):
        world.succeed(world.claim(world.submit()))
    world.publish()
    world.time.pass_(SETTINGS.outbox_kept_s + 1)

    assert batches_of(world, 2).sweep(world.lead())

    assert world.outbox() == []


def test_a_leader_that_was_away_writes_nothing_once_another_has_written(world: World) -> None:
    """R7: the fence decides, in the same transaction as the write."""
    task = world.submit()
    world.claim(task)
    paused = world.lead("paused")
    world.time.pass_(AWAY_S)
    new = world.lead("new")
    nobody_to_mend = world.rescuer("new").sweep(new)
    world.claim(task, "worker-2")
    world.time.pass_(AWAY_S)
    before = world.trail(task)

    went_on = world.rescuer("paused").sweep(paused)

    assert (nobody_to_mend, went_on) == (True, False)
    assert world.trail(task) == before


def test_a_leader_whose_fence_is_old_writes_nothing_even_with_nothing_to_mend(world: World) -> None:
    """R7: it must learn that it does not lead any more."""
    paused = world.lead("paused")
    world.time.pass_(SETTINGS.lock_ttl_s)
    new = world.lead("new")
    assert world.rescuer("new").sweep(new)

    assert not world.rescuer("paused").sweep(paused)


def test_only_one_of_two_rescuers_leads_and_the_other_takes_over_when_it_ends(world: World) -> None:
    """R7, R30: a graceful shutdown releases the lock, so that the next leader need not wait for its expiry."""
    swept: list[str] = []
    first = world.rescuer("first", jobs=[lambda _: swept.append("first")], rests=3)
    second = world.rescuer("second", jobs=[lambda _: swept.append("second")], rests=2)

    def interfere(_fence: int) -> None:
        if swept == ["first"]:
            second.run()

    object.__setattr__(first, "jobs", [*first.jobs, interfere])
    first.run()
    third = world.rescuer("third", jobs=[lambda _: swept.append("third")], rests=2)
    third.run()

    assert swept == ["first", "first", "third"]


def test_a_job_that_breaks_keeps_no_sweep_from_its_work_and_leaks_nothing_into_the_log(world: World) -> None:
    """R14, R18."""
    task = world.submit()
    world.claim(task)
    world.time.pass_(AWAY_S)

    def job(fence: int) -> None:
        secret = "s3cr3t"
        raise ValueError(secret)

    with capture_logs() as logs:
        world.rescuer(jobs=[job], rests=2).run()

    assert world.find(task).status is TaskState.RETRYING
    assert [entry["error"] for entry in logs] == ["ValueError"]
    assert "s3cr3t" not in repr(logs)


def test_jobs_are_given_the_leader_s_fence(world: World) -> None:
    """R7: for whatever resource they touch."""
    fences: list[int] = []
    for _ in range(2):
        world.rescuer(jobs=[fences.append], rests=2).run()

    assert fences == [1, 2]


@pytest.mark.parametrize("trouble", ["redis", "database"])
def test_a_redis_or_a_database_that_is_away_is_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """R14: an error is neither leadership nor the end of the rescuer, not even in its first breath."""
    task = world.submit()
    world.claim(task)
    world.time.pass_(AWAY_S)
    real = lock.acquire
    errors: list[Exception] = [CacheUnavailable("away") if trouble == "redis" else DatabaseUnavailable("away")]

    def sometimes(*given: Any, **options: Any) -> Any:
        if errors:
            raise errors.pop()
        return real(*given, **options)

    monkeypatch.setattr(lock, "acquire", sometimes)

    world.rescuer(rests=3).run()

    assert world.find(task).status is TaskState.RETRYING


def test_a_lost_lock_ends_the_leading_and_the_next_try_is_as_any_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7."""
    fences: list[int] = []
    monkeypatch.setattr(lock, "renew", lambda *_, **__: False)

    world.rescuer(jobs=[fences.append], rests=5).run()

    assert fences == [1, 2, 3][: len(fences)]
    assert len(fences) == 2


def test_a_dead_letter_is_open_until_a_person_redrives_it_with_a_fresh_budget(world: World) -> None:
    """R12."""
    task = world.submit()
    world.kill(task)
    letter = world.letters()[0]

    def redrive() -> bool:
        return transact(
            world.engine,
            lambda connection: dead_letter.redrive(
                connection, letter.id, actor="operator", work_queue=SETTINGS.work_queue
            ),
        )

    answers = [redrive(), redrive()]

    row = world.find(task)
    handled = world.letters()[0]
    assert answers == [True, False]
    assert (row.status, row.attempts_spent, row.attempt) == (TaskState.ACCEPTED, 0, SETTINGS.attempts_max)
    assert (handled.handled_how, handled.handled_us is not None) == ("redriven", True)
    assert transact(world.engine, dead_letter.open_count) == 0
    assert world.outbox(task_id=task.id)[-1].queue == SETTINGS.work_queue
    claim = world.claim(task)
    assert (claim.attempt, claim.fence) == (SETTINGS.attempts_max + 1, SETTINGS.attempts_max + 1)


def test_a_task_that_dies_again_writes_a_letter_again(world: World) -> None:
    """R12: DEAD if and only if there is an open letter, or one that a person has closed."""
    task = world.submit()
    world.kill(task)
    first = world.letters()[0]
    transact(
        world.engine,
        lambda connection: dead_letter.redrive(connection, first.id, actor="o", work_queue=SETTINGS.work_queue),
    )

    world.kill(task)

    letters = transact(world.engine, lambda connection: dead_letter.open_letters(connection, rows_max=10))
    assert [(letter.task_id, letter.attempts) for letter in letters] == [(task.id, SETTINGS.attempts_max)]
    assert len(world.letters()) == 2


def test_a_discarded_letter_is_closed_with_its_reason_and_its_task_stays_dead(world: World) -> None:
    """R12."""
    task = world.submit()
    world.kill(task)
    letter = world.letters()[0]

    def discard(why: str) -> bool:
        return transact(world.engine, lambda connection: dead_letter.discard(connection, letter.id, why=why))

    answers = [discard("known bug " + "x" * 300), discard("again")]

    assert answers == [True, False]
    assert world.letters()[0].handled_how.startswith("discarded: known bug")
    assert len(world.letters()[0].handled_how) == 200
    assert world.find(task).status is TaskState.DEAD
    assert not transact(
        world.engine,
        lambda connection: dead_letter.redrive(connection, letter.id, actor="o", work_queue=SETTINGS.work_queue),
    )


def test_open_letters_come_oldest_first_and_no_more_than_asked_for(world: World) -> None:
    """R12."""
    tasks = [world.kill(world.submit()) for _ in range(3)]

    letters = transact(world.engine, lambda connection: dead_letter.open_letters(connection, rows_max=2))

    assert [letter.task_id for letter in letters] == [task.id for task in tasks[:2]]
    assert transact(world.engine, dead_letter.open_count) == 3
    assert not transact(
        world.engine, lambda connection: dead_letter.redrive(connection, 999, actor="o", work_queue="q")
    )
