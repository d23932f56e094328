"""A cache that is away costs its callers one wait, not one each."""

import threading

import pytest

from reference_impl.adapters.circuit_breaker import OPEN_S, CircuitBreaker
from reference_impl.errors import CacheUnavailable


class Clock:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(OSError, monotonic_s=clock)


class Calls:
    """A command that fails or not, and counts how often it was sent."""

    def __init__(self) -> None:
        self.sent = 0
        self.error: BaseException | None = None

    def __call__(self) -> int:
        self.sent += 1
        if self.error is not None:
            raise self.error
        return self.sent


def test_everything_passes_while_nothing_fails(breaker: CircuitBreaker) -> None:
    command = Calls()

    assert [breaker.call(command) for _ in range(3)] == [1, 2, 3]


def test_after_a_failure_nothing_is_sent_for_a_while_and_then_it_is_tried_again(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    """R4, R6: so that a redis that says nothing does not make every submission wait for it."""
    command = Calls()
    command.error = OSError("refused")
    told = []
    for _ in range(3):
        with pytest.raises(CacheUnavailable) as failure:
            breaker.call(command)
        told.append(str(failure.value))
    sent = command.sent
    clock.s += OPEN_S
    command.error = None

    assert sent == 1
    assert [word.rsplit(": ", 1)[1] for word in told] == [
        "refused",
        "the circuit is open after a failure",
        "the circuit is open after a failure",
    ]
    assert [breaker.call(command), breaker.call(command)] == [2, 3]


def test_a_failure_that_goes_on_is_tried_once_each_time(breaker: CircuitBreaker, clock: Clock) -> None:
    command = Calls()
    command.error = OSError("refused")
    for _ in range(4):
        for _ in range(5):
            with pytest.raises(CacheUnavailable):
                breaker.call(command)
        clock.s += OPEN_S

    assert command.sent == 4


def test_while_one_tries_the_others_do_not_wait(breaker: CircuitBreaker, clock: Clock) -> None:
    """R6: only the probing call waits for a time-out, not all forty threads of an API."""
    failing = Calls()
    failing.error = OSError("refused")
    with pytest.raises(CacheUnavailable):
        breaker.call(failing)
    clock.s += OPEN_S
    is_trying, may_end = threading.Event(), threading.Event()

    def slow() -> None:
        is_trying.set()
        may_end.wait()

    trying = threading.Thread(target=breaker.call, args=(slow,))
    trying.start()
    is_trying.wait()
    other = Calls()

    with pytest.raises(CacheUnavailable, match="the circuit is open"):
        breaker.call(other)

    may_end.set()
    trying.join()
    assert other.sent == 0
    assert breaker.call(other) == 1


@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt()])
def test_an_error_of_another_kind_is_the_caller_s_and_closes_nothing(
    breaker: CircuitBreaker, error: BaseException
) -> None:
    command = Calls()
    command.error = error
    with pytest.raises(type(error)):
        breaker.call(command)
    command.error = None

    assert breaker.call(command) == 2
