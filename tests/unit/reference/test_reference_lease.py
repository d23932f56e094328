"""Leases of attempts: claiming and heartbeat. A holder never assumes its lease for longer than the database does."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.errors import DatabaseUnavailable
from reference_impl.loops import claiming, heartbeat
from reference_impl.loops.claiming import claim_task
from reference_impl.loops.heartbeat import HeldClaims, run_heartbeat
from reference_impl.rows import cancellation
from reference_impl.rows.transactions import transact
from tests.unit.reference.lease_watcher import Watcher, runtime
from tests.unit.reference.reference_world import SETTINGS, CommitReplies, World

BEATS = 3


def beat(world: World, *, times: int = BEATS, watcher: Watcher | None = None) -> None:
    run_heartbeat(
        runtime(world, watcher or Watcher(), rests=times + 1), world.engine, world.held, every_s=3.0, lease_s=10.0
    )


def slow(world: World, monkeypatch: pytest.MonkeyPatch, *, before_s: float = 0.0, after_s: float = 0.0) -> None:
    """The database takes its time, before it does what it is asked and before its answer arrives."""

    def transact_slowly(engine: Any, work: Callable[[Any], Any]) -> Any:
        world.time.pass_(before_s)
        answer = transact(engine, work)
        world.time.pass_(after_s)
        return answer

    monkeypatch.setattr(claiming, "transact", transact_slowly)


@pytest.mark.parametrize(("before_s", "after_s"), [(0.0, 0.0), (4.0, 0.0), (0.0, 4.0), (4.0, 4.0)])
def test_a_holder_believes_in_its_lease_for_no_longer_than_the_database_does(
    world: World, monkeypatch: pytest.MonkeyPatch, before_s: float, after_s: float
) -> None:
    """R20: the lease counts from before the database was asked."""
    watcher = Watcher()
    task = world.submit()
    asked_s = world.time.monotonic_s()
    slow(world, monkeypatch, before_s=before_s, after_s=after_s)

    claim = claim_task(runtime(world, watcher), world.engine, task.id, lease_s=10.0)

    row = world.find(task)
    assert claim is not None
    assert row.lease_expires_us is not None
    assert claim.held_until_s == asked_s + 10.0
    assert claim.held_until_s <= row.lease_expires_us / 1e6
    assert watcher.seen == [("claimed", 1, 10.0 - before_s - after_s)]


def test_a_claim_whose_answer_took_longer_than_the_lease_is_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """R20: the process was suspended; a sweep rescues the task."""
    watcher = Watcher()
    slow(world, monkeypatch, after_s=10.0)

    claim = claim_task(runtime(world, watcher), world.engine, world.submit().id, lease_s=10.0)

    assert (claim, watcher.seen) == (None, [])


def test_a_claim_whose_answer_came_after_the_deadline_is_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """R16: found by the simulator (world 1302 of its swarm, without the net): an attempt started after its task's deadline."""
    watcher = Watcher()
    task = world.submit(deadline_s=5.0)
    slow(world, monkeypatch, before_s=4.0, after_s=1.0)

    claim = claim_task(runtime(world, watcher), world.engine, task.id, lease_s=10.0)

    assert (claim, watcher.seen) == (None, [])


def test_a_claim_whose_answer_came_before_the_deadline_is_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """R16"""
    task = world.submit(deadline_s=5.0)
    slow(world, monkeypatch, after_s=4.0)

    assert claim_task(runtime(world, Watcher()), world.engine, task.id, lease_s=10.0) is not None


def test_the_heartbeat_keeps_a_lease_for_as_long_as_it_beats(world: World) -> None:
    """R20."""
    task = world.submit()
    claim = world.claim(task)
    world.held.add(claim)
    watcher = Watcher()

    beat(world, times=10, watcher=watcher)

    assert watcher.seen == [("renewed", 1, 10.0)] * 10
    assert not claim.lost
    world.sweep()
    assert world.trail(task) == ["ACCEPTED", "RUNNING"]


def test_an_attempt_that_lost_its_lease_learns_it(world: World) -> None:
    """R20: another attempt has the task; the handler can see it between its steps."""
    task = world.submit()
    zombie = world.claim(task, "zombie")
    world.time.pass_(SETTINGS.lease_s + 1)
    world.sweep()
    world.claim(task, "worker-2")
    world.held.add(zombie)
    believed_s = zombie.held_until_s

    beat(world)

    assert zombie.lost
    assert zombie.held_until_s == believed_s
    assert world.find(task).lease_owner == "worker-2"


def test_a_running_attempt_learns_that_its_user_withdrew_the_task(world: World) -> None:
    """R16."""
    task = world.submit()
    claim = world.claim(task)
    world.held.add(claim)
    cancellation.cancel(world.engine, task.id, actor="api")

    beat(world, times=1)

    assert (claim.cancel_requested, claim.lost) == (True, False)


def test_a_database_that_is_away_costs_no_beat_after_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """R20: the lease keeps running out; the next heartbeat tries again."""
    troubles = [DatabaseUnavailable("away")]

    def sometimes(engine: Any, work: Callable[[Any], Any]) -> Any:
        if troubles:
            raise troubles.pop()
        return transact(engine, work)

    claim = world.claim(world.submit())
    world.held.add(claim)
    monkeypatch.setattr(heartbeat, "transact", sometimes)
    believed_s = claim.held_until_s

    beat(world, times=2)

    assert claim.held_until_s > believed_s
    assert not claim.lost


def test_a_renewal_whose_commit_is_unknown_is_not_believed(world: World) -> None:
    """R20."""
    claim = world.claim(world.submit())
    world.held.add(claim)
    believed_s = claim.held_until_s
    CommitReplies(world.engine).lose(True)

    beat(world, times=1)

    assert claim.held_until_s == believed_s
    assert not claim.lost


@given(st.lists(st.tuples(st.sampled_from(["add", "remove"]), st.integers(1, 3), st.integers(1, 2)), max_size=20))
def test_the_claims_in_care_are_those_added_and_not_removed(steps: list[tuple[str, int, int]]) -> None:
    held = HeldClaims()
    expected: dict[tuple[int, int], Any] = {}
    for action, task, fence in steps:
        claim = FakeClaim(task, fence)
        if action == "add":
            held.add(claim)  # type: ignore[arg-type]
            expected[task, fence] = claim
        else:
            held.remove(claim)  # type: ignore[arg-type]
            expected.pop((task, fence), None)

    assert held.snapshot() == list(expected.values())


class FakeClaim:
    def __init__(self, task: int, fence: int) -> None:
        self.task = self
        self.id = task
        self.fence = fence
