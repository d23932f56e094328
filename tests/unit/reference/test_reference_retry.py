"""When a failed attempt is retried, and the record of its failure."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.errors import PermanentFailure, TaskFailure, TransientFailure
from reference_impl.retry import Failure, RetryPolicy, classify, delay_s
from reference_impl.settings import Settings

SECRET = "token=abc123 of alice@example.org"
policies = st.builds(
    RetryPolicy,
    attempts_max=st.integers(1, 20),
    delay_min_s=st.floats(0.01, 10.0),
    delay_max_s=st.floats(10.0, 600.0),
    jitter=st.floats(0.0, 1.0),
)


class Chance:
    """As the real one draws, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def identifier(self) -> str:
        raise AssertionError("no delay needs a name")


def test_the_delays_double_from_two_seconds_up_to_a_minute() -> None:
    """R15: min(60 s, 2^n s) plus jitter."""
    bounds = [Settings().retry_policy.bounds_s(attempt) for attempt in range(1, 8)]

    assert [least for least, _ in bounds] == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert bounds[0] == (2.0, 2.5), "a quarter of jitter"


@given(policies, st.integers(1, 5000))
def test_bounds_never_shrink_and_never_pass_the_greatest_delay_and_its_jitter(
    policy: RetryPolicy, attempt: int
) -> None:
    """R15: whatever the attempt, also one that 2^n as a float could not hold."""
    least, most = policy.bounds_s(attempt)
    next_least, next_most = policy.bounds_s(attempt + 1)

    assert policy.delay_min_s <= least <= most <= policy.delay_max_s * (1 + policy.jitter)
    assert (least, most) <= (next_least, next_most)


@given(policies, st.integers(1, 50), st.integers())
def test_a_delay_lies_within_its_bounds(policy: RetryPolicy, attempt: int, seed: int) -> None:
    """R15."""
    least, most = policy.bounds_s(attempt)

    assert least <= delay_s(attempt, policy, Chance(seed)) <= most


class Busy(TransientFailure):
    pass


class NoPermission(PermanentFailure):
    pass


class Unspeakable(TaskFailure):
    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (Busy("the model is busy"), Failure("transient", "Busy", "the model is busy")),
        (NoPermission("not yours"), Failure("permanent", "NoPermission", "not yours")),
        (TaskFailure("odd"), Failure("unknown", "TaskFailure", "odd")),
        (ConnectionResetError(SECRET), Failure("transient", "ConnectionResetError", "")),
        (BrokenPipeError(SECRET), Failure("transient", "BrokenPipeError", "")),
        (TimeoutError(SECRET), Failure("transient", "TimeoutError", "")),
        (ValueError(SECRET), Failure("unknown", "ValueError", "")),
        (MemoryError(), Failure("unknown", "MemoryError", "")),
        (SystemExit(1), Failure("unknown", "SystemExit", "")),
        (Unspeakable(), Failure("unknown", "Unspeakable", "")),
        (Busy("half a pair: \ud800"), Failure("transient", "Busy", "half a pair: ?")),
    ],
)
def test_what_an_error_means_and_what_is_kept_of_it(error: BaseException, kept: Failure) -> None:
    """R15, R18: only messages that their authors meant to be shown; any other may hold a secret."""
    assert classify(error) == kept


@given(st.text(st.characters(), max_size=2000))
def test_a_kept_message_is_text_that_a_database_can_keep(message: str) -> None:
    """R18, R25."""
    classify(TransientFailure(message)).message.encode()
