"""Claiming a task: its first lease, measured on the worker's own clock (R20)."""

from sqlalchemy import Engine

from reference_impl.rows import store
from reference_impl.rows.database_clock import US_PER_S
from reference_impl.rows.transactions import transact
from reference_impl.runtime import Runtime
from reference_impl.task import Claim


def claim_task(runtime: Runtime, engine: Engine, task_id: str, *, lease_s: float) -> Claim | None:
    """A claim on the task. None: it is not runnable, another attempt holds it, or the reply came after the lease or the deadline ended.

    The lease is counted from the moment *before* the database was asked, so the process never holds it for longer than the database does.

    Raises:
        DatabaseError: as `transact`.
    """
    asked_s = runtime.clock.monotonic_s()
    task = transact(engine, lambda connection: store.claim(connection, task_id, owner=runtime.name, lease_s=lease_s))
    if task is None:
        return None
    claim = Claim(task, runtime.name, held_until_s=asked_s + lease_s)
    left_s = claim.held_until_s - runtime.clock.monotonic_s()
    if left_s <= 0:
        return None  # this process was suspended for longer than its lease: the next sweep rescues the task
    if task.deadline_us is not None:
        # The time left at the claim is counted from before the database was asked, so no two clocks are compared.
        started_by_s = asked_s + (task.deadline_us - task.updated_us) / US_PER_S
        if runtime.clock.monotonic_s() >= started_by_s:
            return None  # as above
    runtime.observer.claimed(claim, left_s)
    return claim
