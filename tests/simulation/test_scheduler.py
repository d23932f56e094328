"""Fibers on a virtual clock."""

import pytest

from chaos.simulation.kernel.scheduler import Died, Life, Scheduler, Waiters, WorldStuck
from tests.worlds.fibers import FiberWorld


def test_fibers_run_in_the_order_of_the_virtual_clock() -> None:
    world = FiberWorld()
    world.spawn("slow", world.rest(20), world.say("slow"))
    world.spawn("fast", world.rest(10), world.say("fast"), world.rest(30), world.say("fast again"))

    assert world.run() == [(10, "fast"), (20, "slow"), (40, "fast again")]


def test_what_is_due_at_the_same_instant_runs_in_the_order_in_which_it_was_asked_for() -> None:
    world = FiberWorld()
    for name in "abc":
        world.spawn(name, world.rest(10), world.say(name), world.rest(10), world.say(name))

    assert [word for _, word in world.run()] == list("abcabc")


def test_a_waiter_is_told_whether_it_was_woken_or_its_time_was_over() -> None:
    world, news = FiberWorld(), Waiters()
    heard: list[bool] = []
    world.spawn("patient", lambda: heard.append(world.scheduler.wait(news, 100)), world.say("woken"))
    world.spawn("hasty", lambda: heard.append(world.scheduler.wait(news, 10)), world.say("gave up"))
    world.spawn("waker", world.rest(50), lambda: world.scheduler.wake(news))

    assert world.run() == [(10, "gave up"), (50, "woken")]
    assert heard == [False, True]
    assert news == []


def test_a_killed_process_runs_its_finally_blocks_and_every_call_in_them_raises_again() -> None:
    world = FiberWorld()
    refused: list[str] = []

    def work() -> None:
        try:
            world.scheduler.rest(100)
        finally:
            try:
                world.scheduler.rest(1)
            except Died:
                refused.append("rest")
                world.scheduler.check_alive()

    world.spawn("worker", work, world.say("never"))
    world.scheduler.at(50, lambda: world.scheduler.kill(world.life))

    assert world.run() == []
    assert refused == ["rest"]
    assert world.life.fibers == []
    assert world.broken == []


def test_a_process_that_kills_itself_stops_at_its_next_call() -> None:
    world = FiberWorld()
    world.spawn(
        "worker", world.say("before"), lambda: world.scheduler.kill(world.life), world.rest(0), world.say("after")
    )

    assert world.run() == [(0, "before")]


def test_a_paused_process_stands_still_and_goes_on_with_what_became_due() -> None:
    world = FiberWorld()
    world.spawn("worker", world.rest(10), world.say("first"), world.rest(10), world.say("second"))
    world.scheduler.at(5, lambda: world.scheduler.pause(world.life))
    world.scheduler.at(100, lambda: world.scheduler.resume(world.life))

    assert world.run() == [(100, "first"), (110, "second")]


def test_a_process_that_pauses_itself_stands_still_at_its_next_call_although_nothing_else_is_due() -> None:
    world = FiberWorld()
    world.scheduler.at(100, lambda: world.scheduler.resume(world.life))
    world.spawn("worker", lambda: world.scheduler.pause(world.life), world.rest(0), world.say("back"))

    assert world.run() == [(100, "back")]


def test_an_error_in_a_fiber_is_told_to_its_process_and_stops_nobody_else() -> None:
    world = FiberWorld()

    def fail() -> None:
        raise ValueError("oh")

    world.spawn("broken", fail)
    world.spawn("other", world.rest(10), world.say("other"))

    assert world.run() == [(10, "other")]
    assert world.broken == ["broken: oh"]


def test_a_world_in_which_nothing_can_happen_any_more_is_stuck() -> None:
    world = FiberWorld()
    world.spawn("waits for ever", lambda: world.scheduler.wait([]))

    with pytest.raises(WorldStuck, match="no fiber or action is due"):
        world.scheduler.run()
    world.scheduler.close()

    assert world.life.fibers == []


def test_a_world_that_goes_round_in_circles_is_stuck() -> None:
    scheduler = Scheduler(steps_max=1000)
    life = scheduler.live(Life("process", lambda fiber, error: None))

    def spin() -> None:
        while True:
            scheduler.rest(0)

    scheduler.spawn("spins", life, spin)

    with pytest.raises(WorldStuck, match="more than 1000 steps"):
        scheduler.run()
    scheduler.close()


def test_a_thousand_fibers_do_not_exhaust_the_recursion_limit() -> None:
    world = FiberWorld()
    for _ in range(1000):
        world.spawn("one of many", world.rest(10), world.rest(10), world.say("done"))

    assert len(world.run()) == 1000
