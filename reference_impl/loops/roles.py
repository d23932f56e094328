"""Which loops a process of each role runs, whatever runs them: threads in production, fibers in a simulator."""

from collections.abc import Callable
from dataclasses import replace

from reference_impl.bootstrap import Parts, build_relay, build_rescuer, build_worker
from reference_impl.loops.lease import HeldClaims, run_heartbeat
from reference_impl.ports import Stop

Loop = tuple[str, Callable[[], None]]
"""An endless function, and its name."""


def loops_of(role: str, parts: Parts, slots_ended: Stop) -> tuple[list[Loop], list[Loop]]:
    """The loops that do the work of the role, and those that serve them until `slots_ended`. What an API serves is not among them."""
    held = HeldClaims()
    working: list[Loop] = []
    serving: list[Loop] = []
    if role in {"worker", "embedded"}:
        worker = build_worker(parts, held)
        working += [(f"slot {number}", worker.run_slot) for number in range(1, parts.settings.worker_slots + 1)]
        serving.append(("heartbeat", lambda: _beat(parts, held, slots_ended)))
    if role in {"relay", "embedded"}:
        working.append(("relay", build_relay(parts).run))
    if role in {"rescuer", "embedded"}:
        working.append(("rescuer", build_rescuer(parts).run))
    return working, serving


def _beat(parts: Parts, held: HeldClaims, slots_ended: Stop) -> None:
    runtime = replace(parts.runtime, stop=slots_ended)
    run_heartbeat(runtime, parts.engine, held, every_s=parts.settings.heartbeat_s, lease_s=parts.settings.lease_s)
