"""Backoff waits before every retry, and logs an error only when it is new."""

from structlog.testing import capture_logs

from reference_impl.loops.backoff import RETRY_DELAY_S, Backoff


class Stop:
    def __init__(self, *, after: int) -> None:
        self._after = after
        self.rests: list[float] = []

    @property
    def requested(self) -> bool:
        return len(self.rests) >= self._after

    def wait(self, timeout_s: float) -> bool:
        self.rests.append(timeout_s)
        return self.requested


def test_each_reason_is_said_once_until_it_is_mended_or_another_comes() -> None:
    backoff = Backoff(Stop(after=99), "waits for the broker")

    with capture_logs() as logs:
        for why in ("refused", "refused", "reset", "refused"):
            backoff.wait(ConnectionError(why))
        backoff.reset()
        backoff.wait(ConnectionError("refused"))

    assert [entry["why"] for entry in logs] == ["refused", "reset", "refused", "refused"]
    assert {entry["event"] for entry in logs} == {"waits for the broker"}


def test_it_rests_before_every_try_and_says_when_it_is_time_to_end() -> None:
    stop = Stop(after=2)
    backoff = Backoff(stop, "waits for the broker")

    ends = [backoff.wait(ConnectionError("refused")) for _ in range(2)]

    assert (ends, stop.rests) == ([False, True], [RETRY_DELAY_S, RETRY_DELAY_S])
