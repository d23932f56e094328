"""The work of the checkers grows linearly with the events of one task: counted in executed lines, independent of any clock."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import Policy, policy_from
from scenarios.record.history import Event, History, Recorded

FEW = 100
TIMES = 4
ALLOWED = 5
"""Four times the events may take five times the lines, because of binary searches. Quadratic work would take 16 times."""

MS = 1_000_000
POLICY: Policy = policy_from(
    {
        "attempts_max": 3,
        "delays_s": [[0, 2], [0, 4]],
        "tolerance_s": 0.5,
        "budget_s": 100,
        "grace_s": 0.001,
        "ack_s": 1,
        "lease_s": 30,
        "wait_s": 5,
        "key_window_s": 1e6,
        "coalesce": True,
        "order": "serial",
        "lease_owner": "broker",
        "permanent_errors": ["unknown"],
        "renew_s": 0.001,
        "ends_at_deadline": True,
        "dead_letters": True,
        "overtakes_max": 30,
        "concurrency": {"by": "all", "n": 2},
        "window": {"kind": "sliding", "n": 3, "per_s": 1},
        "execution_window": {"kind": "sliding", "n": 3, "per_s": 1},
    }
)


def event(ms: int, actor: str, name: str, **fields: Any) -> Event:
    """An event of task A, unless it names a resource or another task."""
    subject = {} if "resource" in fields or "task" in fields else {"task": "A"}
    return Event(t_ns=ms * MS, actor=actor, event=name, **subject, **fields)


def retried(n: int) -> Iterator[Event]:
    """Attempts that fail in sequence; another actor reports their acknowledgements."""
    for at in range(10, 10 * n, 10):
        yield event(at, "worker", "attempt.start", attempt=at // 10)
        yield event(at + 1, "worker", "attempt.fail", attempt=at // 10, error="transient")
        yield event(at + 2, "broker", "ack.ok", attempt=at // 10)


def dead_and_done(n: int) -> Iterator[Event]:
    """Attempts that succeed, each followed by a dead letter."""
    for at in range(10, 10 * n, 10):
        yield event(at, f"worker-{at % 3}", "attempt.start", attempt=1)
        yield event(at + 1, f"worker-{at % 3}", "attempt.ok", attempt=1)
        yield event(at + 2, "database", "dead", attempts=1, reason="exhausted")


def leased(n: int) -> Iterator[Event]:
    """Attempts under leases that expire, with rows."""
    for at in range(10, 10 * n, 10):
        worker = f"worker-{at % 3}"
        yield event(at, worker, "lease.acquired", resource="task:A", ttl_s=0.002, fence=at)
        yield event(at + 1, worker, "attempt.start", attempt=at // 10)
        yield event(at + 2, worker, "lease.renewed", resource="task:A", ttl_s=0.002, fence=at)
        yield event(at + 3, "database", "state", from_="RUNNING", to="RUNNING")
        yield event(at + 4, worker, "attempt.ok", attempt=at // 10)
        yield event(at + 5, worker, "lease.released", resource="task:A", fence=at)


def renewed(n: int) -> Iterator[Event]:
    """Attempts under leases named after the task, each renewed too late."""
    for at in range(10, 10 * n, 10):
        yield event(at, "worker", "lease.acquired", task="A", resource="A", ttl_s=0.02, fence=at)
        yield event(at + 1, "worker", "attempt.start", attempt=at // 10)
        yield event(at + 5, "worker", "lease.renewed", task="A", resource="A", ttl_s=0.02, fence=at)
        yield event(at + 8, "worker", "attempt.ok", attempt=at // 10)
        yield event(at + 9, "worker", "lease.released", task="A", resource="A", fence=at)


def overlapping(n: int) -> Iterator[Event]:
    """Attempts that all start before the first one ends."""
    for number in range(n):
        yield event(10 + number, f"worker-{number}", "attempt.start", attempt=number)
        yield event(10 + n + number, f"worker-{number}", "progress", attempt=number, percent=50.0)
        yield event(10 + 2 * n + number, f"worker-{number}", "attempt.ok", attempt=number)
        yield event(10 + 3 * n + number, f"worker-{number}", "ack.ok", attempt=number)


def redriven(n: int) -> Iterator[Event]:
    """A task that becomes dead and is redriven, repeatedly."""
    for at in range(10, 10 * n, 10):
        yield event(at, "database", "state", from_="ACCEPTED", to="RUNNING")
        yield event(at, "worker", "attempt.start", attempt=1)
        yield event(at + 1, "worker", "attempt.fail", attempt=1, error="permanent")
        yield event(at + 2, "database", "state", from_="RUNNING", to="DEAD")
        yield event(at + 2, "database", "dead", attempts=1, reason="permanent")
        yield event(at + 3, "client", "status", state="DEAD")
        yield event(at + 4, "database", "redrive")
        yield event(at + 4, "database", "state", from_="DEAD", to="ACCEPTED")


def cancelled(n: int) -> Iterator[Event]:
    """A task that is cancelled and submitted, repeatedly."""
    for at in range(10, 10 * n, 10):
        yield event(at, "worker", "attempt.start", attempt=1)
        yield event(at + 1, "worker", "attempt.ok", attempt=1)
        yield event(at + 2, "client", "cancel.ok")
        yield event(at + 3, "client", "submit.invoke")
        yield event(at + 4, "client", "submit.ok")


def read(n: int) -> Iterator[Event]:
    """A task with many rows and many reads."""
    yield event(10, "worker", "attempt.start", attempt=1)
    yield event(11, "worker", "attempt.ok", attempt=1, result="x")
    for number in range(n):
        yield event(12, "database", "state", from_="RUNNING", to="SUCCEEDED")
        yield event(20 + number, "client", "status", state="SUCCEEDED", result="x")


def written(n: int) -> Iterator[Event]:
    """Accepted effects with increasing fences, each with a refused effect of an older fence; half of them at the same instant."""
    for number in range(n):
        yield event(10 + max(0, number - n // 2), "worker", "effect", step=number, fence=2 * number)
        yield event(10 + max(0, number - n // 2), "worker", "effect.rejected", step=number, fence=number)


def submitted(n: int) -> Iterator[Event]:
    """Submissions of one task by many clients; some answers state a key that the invocations omitted."""
    for number in range(n):
        yield event(10 + number, f"client-{number}", "submit.invoke")
        yield event(10 + number, f"client-{number}", "submit.ok", id="A", key=("k" if number > n // 2 else None))


def coalesced(n: int) -> Iterator[Event]:
    """Many tasks that are one by their key: only the first of them runs."""
    yield event(10 + n, "worker", "attempt.start", task="A0", attempt=1)
    yield event(11 + n, "worker", "attempt.ok", task="A0", attempt=1)
    for number in range(n):
        yield event(10 + number, "client", "submit.invoke", task=f"A{number}", key="k")
        yield event(10 + number, "client", "submit.ok", task=f"A{number}", key="k", id="A")


def killed(n: int) -> Iterator[Event]:
    """A worker that crashes in each attempt and restarts."""
    for at in range(10, 10 * n, 10):
        yield event(at, "worker", "attempt.start", attempt=at // 10)
        yield event(at + 1, "worker", "crash")
        yield event(at + 2, "worker", "restart")


KINDS = (
    retried,
    dead_and_done,
    leased,
    renewed,
    overlapping,
    redriven,
    cancelled,
    read,
    written,
    submitted,
    coalesced,
    killed,
)


@pytest.mark.parametrize("of_size", KINDS)
def test_the_work_of_the_checkers_grows_linearly_with_the_events_of_one_task(
    of_size: Callable[[int], Iterator[Event]],
) -> None:
    few, many = (lines_to_judge(history_of(of_size, size)) for size in (FEW, TIMES * FEW))

    assert many <= ALLOWED * few


def history_of(of_size: Callable[[int], Iterator[Event]], size: int) -> list[Event]:
    """A complete history with these events."""
    end_ms = 10 * size + 10_000
    lists: dict[str, tuple[str, ...]] = {"done": ("A",), "dead": (), "cancelled": (), "expired": (), "pending": ()}
    return [
        event(0, "client", "submit.invoke"),
        event(1, "client", "submit.ok", id="A"),
        *of_size(size),
        Event(t_ns=end_ms * MS, actor="lab", event="final", healed=True, caught_up=True, **lists),
    ]


def lines_to_judge(events: list[Event]) -> int:
    """Number of lines that the index and all checkers execute; each iteration of a loop within one line counts."""
    lines = 0
    ours = str(Path(judge.__code__.co_filename).parent.parent)

    def count(frame: FrameType, what: str, _: object) -> Any:
        nonlocal lines
        lines += what == "line"
        return count if frame.f_code.co_filename.startswith(ours) else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        judge(Recorded(History(events)), claims=Guarantee, policy=POLICY)
    finally:
        sys.settrace(before)
    return lines
