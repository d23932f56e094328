"""Threads, signals and names of a real process."""

import threading
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.adapters.system import Loops, ShutdownEvent, SystemClock, SystemEntropy

LONG_S = 60.0


def test_a_loop_that_breaks_ends_all_the_others_and_is_told_of() -> None:
    """R30: half a process is of no use, and `join` is the only place that can report a thread's exception."""
    stop = ShutdownEvent()
    ended: list[str] = []

    def healthy() -> None:
        stop.wait(LONG_S)
        ended.append("healthy")

    def broken() -> None:
        raise ZeroDivisionError("a bug")

    loops = Loops(stop)
    loops.start([("healthy", healthy), ("broken", broken)])
    stop.await_request()

    with pytest.raises(ZeroDivisionError, match="a bug"):
        loops.join(LONG_S)
    assert ended == ["healthy"]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_a_loop_that_wants_to_end_the_process_does(error: BaseException) -> None:
    """uvicorn does that when its port is taken."""
    stop = ShutdownEvent()

    def leaving() -> None:
        raise error

    loops = Loops(stop)
    loops.start([("leaving", leaving)])
    stop.await_request()

    with pytest.raises(type(error)):
        loops.join(LONG_S)


def test_whoever_does_not_end_in_time_is_not_waited_for() -> None:
    """R30: a bounded end, whatever a handler does."""
    stop, gate = ShutdownEvent(), threading.Event()
    loops = Loops(stop)
    loops.start([("slow", lambda: bool(gate.wait(LONG_S))), ("quick", lambda: None)])  # type: ignore[list-item]

    in_time = loops.join(0.05)
    gate.set()

    assert (in_time, loops.join(LONG_S)) == (False, True)


def test_a_wish_to_end_is_heard_by_all_and_for_good() -> None:
    """R30."""
    stop = ShutdownEvent()
    before = stop.wait(0.0), stop.requested
    stop.request()
    stop.request()

    assert before == (False, False)
    assert (stop.wait(LONG_S), stop.requested) == (True, True)
    stop.await_request()


def test_names_are_unique_and_later_ones_sort_later() -> None:
    """R1: new rows go to the end of the index."""
    entropy = SystemEntropy()

    names = [entropy.identifier() for _ in range(5000)]

    assert len(set(names)) == len(names)
    assert names == sorted(names)
    assert {uuid.UUID(name).version for name in names} == {7}


@given(st.floats(0.0, 100.0), st.floats(0.0, 100.0))
def test_chance_stays_within_its_bounds(one: float, other: float) -> None:
    low, high = sorted((one, other))

    assert low <= SystemEntropy().uniform(low, high) <= high


def test_the_clock_never_goes_back() -> None:
    clock = SystemClock()
    seen = [clock.monotonic_s() for _ in range(100)]
    clock.sleep(0.001)

    assert seen == sorted(seen)
    assert clock.monotonic_s() > seen[0]
