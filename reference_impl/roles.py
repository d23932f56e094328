"""The loops of each role, independent of how they run: as threads in production, as fibers in a simulator."""

from collections.abc import Callable
from dataclasses import replace

from reference_impl.components import Components, build_relay, build_rescuer, build_worker
from reference_impl.loops.heartbeat import HeldClaims, run_heartbeat
from reference_impl.ports import Shutdown

Loop = tuple[str, Callable[[], None]]
"""Name and function of a loop, which returns only after a shutdown request."""


def loops_of(role: str, components: Components, slots_ended: Shutdown) -> tuple[list[Loop], list[Loop]]:
    """The loops of the role in two groups: working loops, and loops that support them until `slots_ended`.

    The HTTP server of the API is not among them.
    """
    held = HeldClaims()
    working: list[Loop] = []
    supporting: list[Loop] = []
    if role in {"worker", "embedded"}:
        worker = build_worker(components, held)
        working += [(f"slot {number}", worker.run_slot) for number in range(1, components.settings.worker_slots + 1)]
        supporting.append(("heartbeat", lambda: _run_heartbeat(components, held, slots_ended)))
    if role in {"relay", "embedded"}:
        working.append(("relay", build_relay(components).run))
    if role in {"rescuer", "embedded"}:
        working.append(("rescuer", build_rescuer(components).run))
    return working, supporting


def _run_heartbeat(components: Components, held: HeldClaims, slots_ended: Shutdown) -> None:
    runtime = replace(components.runtime, shutdown=slots_ended)
    settings = components.settings
    run_heartbeat(runtime, components.engine, held, every_s=settings.heartbeat_s, lease_s=settings.lease_s)
