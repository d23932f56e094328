"""A sweep of the rescuer is bounded, goes on in batches, and takes the longest silent first."""

from dataclasses import replace
from typing import Any

import pytest

from reference_impl.loops import rescuer
from reference_impl.loops.rescuer import Rescuer
from reference_impl.task import Task, TaskState
from tests.unit.reference.reference_world import AWAY_S, SETTINGS, World


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


def test_more_lost_messages_than_a_batch_are_sent_again_in_one_sweep(world: World) -> None:
    """R14: after the broker lost its queue."""
    tasks = [world.submit() for _ in range(5)]
    world.publish()
    world.time.pass_(SETTINGS.undelivered_after_s + 1)

    assert batches_of(world, 2).sweep(world.lead())

    assert [len(world.outbox(task_id=task.id)) for task in tasks] == [2] * 5
    assert world.metrics.swept.labels("not delivered")._value.get() == 5


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
