"""The heartbeat: renews the leases of all running attempts of a process, and marks an attempt whose lease is lost (R20).

As in `claiming`, a lease is counted from the moment *before* the database was asked.
"""

from sqlalchemy import Connection, Engine

from reference_impl.errors import DatabaseError
from reference_impl.rows import store
from reference_impl.rows.transactions import transact
from reference_impl.runtime import Runtime
from reference_impl.task import Claim


class HeldClaims:
    """The claims that the heartbeat of this process renews. Thread-safe: every method is one atomic dict operation."""

    def __init__(self) -> None:
        self._claims: dict[tuple[str, int], Claim] = {}

    def add(self, claim: Claim) -> None:
        """Renew the claim from now on."""
        self._claims[claim.task.id, claim.fence] = claim

    def remove(self, claim: Claim) -> None:
        """Stop renewing the claim."""
        self._claims.pop((claim.task.id, claim.fence), None)

    def snapshot(self) -> list[Claim]:
        """The claims held at this moment."""
        return list(self._claims.values())


def run_heartbeat(runtime: Runtime, engine: Engine, held: HeldClaims, *, every_s: float, lease_s: float) -> None:
    """Renew every held claim every `every_s`, until `runtime.shutdown` is requested.

    That request comes later than the one to the workers: attempts that finish during a graceful shutdown are still renewed.
    """
    while not runtime.shutdown.wait(every_s):
        for claim in held.snapshot():
            _renew(runtime, engine, claim, lease_s=lease_s)


def _renew(runtime: Runtime, engine: Engine, claim: Claim, *, lease_s: float) -> None:
    asked_s = runtime.clock.monotonic_s()

    def renew(connection: Connection) -> tuple[bool, bool]:
        held = store.renew(connection, claim.task.id, fence=claim.fence, lease_s=lease_s)
        task = store.find(connection, claim.task.id) if held else None
        return held, task is not None and task.cancel_requested

    try:
        still_held, cancel_requested = transact(engine, renew)
    except DatabaseError:
        return  # the lease keeps running out; the next heartbeat tries again
    claim.cancel_requested = cancel_requested
    if not still_held:
        claim.lost = True
        return
    claim.held_until_s = asked_s + lease_s
    left_s = claim.held_until_s - runtime.clock.monotonic_s()
    if left_s > 0:
        runtime.observer.claim_renewed(claim, left_s)
