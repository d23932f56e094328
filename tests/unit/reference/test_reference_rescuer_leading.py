"""One rescuer leads: it does not write once another process leads, and waits for what is away."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from reference_impl.errors import CacheUnavailable, DatabaseUnavailable
from reference_impl.fast import lock
from reference_impl.task import TaskState
from tests.unit.reference.reference_world import AWAY_S, SETTINGS, World


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
