"""Leases of attempts: taken with the claim, moved on by the heartbeat, lost by whoever falls silent (R20).

The holder's own view errs on the safe side: a lease counts from the moment *before* the database was asked.
"""

from sqlalchemy import Connection, Engine

from reference_impl.errors import DatabaseError
from reference_impl.ports import Runtime
from reference_impl.rows import store
from reference_impl.rows.database_clock import US_PER_S
from reference_impl.rows.transactions import transact
from reference_impl.task import Claim


class HeldClaims:
    """The claims that this process works on, for its heartbeat. Plain dict operations, each of them atomic."""

    def __init__(self) -> None:
        self._claims: dict[tuple[str, int], Claim] = {}

    def add(self, claim: Claim) -> None:
        """Have it renewed from now on."""
        self._claims[claim.task.id, claim.fence] = claim

    def remove(self, claim: Claim) -> None:
        """Leave it alone from now on."""
        self._claims.pop((claim.task.id, claim.fence), None)

    def snapshot(self) -> list[Claim]:
        """Those held at this moment."""
        return list(self._claims.values())


def take(runtime: Runtime, engine: Engine, task_id: str, *, lease_s: float) -> Claim | None:
    """A claim on the task; None if it is not to be run, somebody else runs it, or the answer took longer than lease or deadline allow.

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
        return None  # this process was away for longer than its lease: whoever sweeps next will end it
    if task.deadline_us is not None:
        # As much as was left at the claim counts from before the database was asked, so that no clock is compared with another.
        started_by_s = asked_s + (task.deadline_us - task.updated_us) / US_PER_S
        if runtime.clock.monotonic_s() >= started_by_s:
            return None  # as above
    runtime.observer.claimed(claim, left_s)
    return claim


def run_heartbeat(runtime: Runtime, engine: Engine, held: HeldClaims, *, every_s: float, lease_s: float) -> None:
    """Renew every held claim every `every_s`, until it is time to end.

    Its stop is not that of the process: attempts that run out during a graceful end are renewed too.
    """
    while not runtime.stop.wait(every_s):
        for claim in held.snapshot():
            _beat(runtime, engine, claim, lease_s=lease_s)


def _beat(runtime: Runtime, engine: Engine, claim: Claim, *, lease_s: float) -> None:
    asked_s = runtime.clock.monotonic_s()

    def renew(connection: Connection) -> tuple[bool, bool]:
        held = store.renew(connection, claim.task.id, fence=claim.fence, lease_s=lease_s)
        task = store.find(connection, claim.task.id) if held else None
        return held, task is not None and task.cancel_requested

    try:
        still_held, cancel_requested = transact(engine, renew)
    except DatabaseError:
        return  # the lease goes on running out; the next beat tries again
    claim.cancel_requested = cancel_requested
    if not still_held:
        claim.lost = True
        return
    claim.held_until_s = asked_s + lease_s
    left_s = claim.held_until_s - runtime.clock.monotonic_s()
    if left_s > 0:
        runtime.observer.claim_renewed(claim, left_s)
