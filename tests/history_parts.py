"""Parts of a legal history beside the lives of its tasks: locks, limits, pauses, schedules."""

from scenarios.judging.policy import Schedule
from tests.history_drafts import Draft, run_once, spawn


def _lock(draft: Draft) -> None:
    """A lock that is renewed, handed over, run out and fenced."""
    draft.write(
        """
        10    leader-1  lease.acquired  resource=lock:sweep  fence=1  ttl_s=5
        14    leader-1  lease.renewed   resource=lock:sweep  fence=1  ttl_s=5
        15    leader-1  write           resource=swept       fence=1
        18    leader-1  lease.released  resource=lock:sweep  fence=1
        18.5  leader-2  lease.acquired  resource=lock:sweep  fence=2  ttl_s=5
        19    leader-2  write           resource=swept       fence=2
        24    leader-1  lease.acquired  resource=lock:sweep  fence=3  ttl_s=5
        25    leader-1  write           resource=swept       fence=3
        26    leader-2  write.rejected  resource=swept       fence=2
        """
    )


def _limit(draft: Draft) -> None:
    """A limiter that lets through what every kind of window allows."""
    for burst in range(3):
        for part in range(3):
            draft.write(f"{2 * burst + part / 10} api allowed limit=tasks user=user")
        draft.write(f"{2 * burst + 0.21} api denied limit=tasks user=user")


def _pause(draft: Draft) -> None:
    """A pause in which only what had been claimed before still starts."""
    draft.write("300 admin pause.ok", "310 admin resume.ok")
    for number, at_s in enumerate((300.5, 310.5)):
        task = f"around-pause-{number}"
        draft.submit(299, task)
        draft.row(at_s - 0.01, task, "ACCEPTED", "RUNNING")
        draft.succeed(at_s, task, "worker")
        draft.row(at_s + 0.3, task, "RUNNING", "SUCCEEDED")
        draft.lists["done"].append(task)


def _late_for_a_reason(draft: Draft) -> None:
    """A scheduled task that a fault held up."""
    draft.fault(400, 420, "mysql")
    draft.submit(390, "held-up", due_s=405.0)
    draft.row(424, "held-up", "ACCEPTED", "RUNNING")
    draft.succeed(425, "held-up", "worker")
    draft.row(425.3, "held-up", "RUNNING", "SUCCEEDED")
    draft.lists["done"].append("held-up")


def _secrets(draft: Draft) -> None:
    """A search that finds nothing."""
    draft.write("600 lab secret.sought target=logs")


def _scoped(draft: Draft) -> None:
    """Two of one scope at once, and three starts within a second: as many as are allowed."""
    for number, at_s in enumerate((650.0, 650.1, 650.6)):
        task = f"scoped-{number}"
        draft.submit(649, task, scope="mail")
        run_once(draft, at_s, task)


def _scheduled(draft: Draft) -> None:
    """A schedule of which one run of occurrences was missed: only the newest of it came later."""
    draft.schedules["report"] = Schedule(every_s=10, since_s=700, until_s=760, catch_up="last")
    draft.fault(715, 745, "mysql")
    for due_s, at_s in ((700, 700.1), (710, 710.1), (740, 746), (750, 750.1), (760, 760.1)):
        spawn(draft, at_s, f"report-{due_s}", schedule="report", due_s=float(due_s))


def _children(draft: Draft) -> None:
    """A task that the system made out of another one."""
    draft.submit(620, "parent")
    run_once(draft, 621, "parent")
    spawn(draft, 622, "child", parent="parent")


def _coalesced(draft: Draft) -> None:
    """Folded into a task that begins again; another one, after the start, is a task of its own."""
    fields = {"key": "coalesced", "user": "user"}
    draft.submit(670, "folding", **fields)
    draft.row(670.9, "folding", "ACCEPTED", "RUNNING")
    draft.fail(671, "folding", "worker", 1)
    draft.row(671.35, "folding", "RUNNING", "RETRYING")
    draft.add(671.4, "client", "submit.invoke", task="folded", **fields)
    draft.add(671.5, "client", "submit.ok", task="folded", id="id-folding", **fields)
    draft.row(672.7, "folding", "RETRYING", "RUNNING")
    draft.succeed(672.8, "folding", "worker", 2)
    draft.row(673.2, "folding", "RUNNING", "SUCCEEDED")
    draft.lists["done"].append("folding")
    draft.submit(674, "separate", **fields)
    run_once(draft, 675, "separate")


PARTS = {
    "lock": _lock,
    "limit": _limit,
    "pause": _pause,
    "late_for_a_reason": _late_for_a_reason,
    "secrets": _secrets,
    "scoped": _scoped,
    "scheduled": _scheduled,
    "children": _children,
    "coalesced": _coalesced,
}
"""What else may be in a legal history."""
