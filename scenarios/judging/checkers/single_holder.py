"""Violated if an actor acquires a lease that another actor holds and that is neither released nor expired (rule 11).

Expiry: the last acquisition or renewal + `ttl_s`, counted from its request if that is known. A renewal of an expired or released lease
is an acquisition.
"""

from dataclasses import dataclass

from scenarios.judging.leases import expiry_ns
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import Event, History


@dataclass(slots=True)
class Hold:
    """One actor holds a resource from `since_ns` until `until_ns`, exclusive."""

    actor: str
    since_ns: int
    until_ns: int


def check(history: History, policy: Policy) -> Findings:
    """Resources that two actors held at once."""
    violations = []
    handovers = 0
    acquisitions = 0
    for resource, events in history.leases.items():
        holds = holds_of(events)
        acquisitions += len(holds)
        handovers += any(hold.actor != holds[0].actor for hold in holds)
        overlap = _first_overlap(holds)
        if overlap is not None:
            former, latter = overlap
            what = f"{latter.actor} acquired it while {former.actor} held it for another "
            what += f"{(former.until_ns - latter.since_ns) / 1e9:.3g} s"
            violations.append(Violation(resource, Proof.EVENTS, what))
    return Findings(
        tuple(violations), exercised=handovers, figures={"acquisitions": acquisitions, "held_twice": len(violations)}
    )


def holds_of(events: list[Event]) -> list[Hold]:
    """The times in which each actor held the resource, in order of their begin."""
    holds: list[Hold] = []
    current: dict[str, Hold] = {}
    for event in events:
        hold = current.get(event.actor)
        if event.event == "lease.released":
            if hold is not None and event.t_ns < hold.until_ns:
                hold.until_ns = event.t_ns
            current.pop(event.actor, None)
        elif hold is not None and event.t_ns < hold.until_ns:
            hold.until_ns = expiry_ns(event)
        else:
            hold = current[event.actor] = Hold(event.actor, event.t_ns, expiry_ns(event))
            holds.append(hold)
    return holds


def _first_overlap(holds: list[Hold]) -> tuple[Hold, Hold] | None:
    """The first two holds of different actors that overlap; `holds` are in order of their begin."""
    still_held: list[Hold] = []
    for hold in holds:
        still_held = [other for other in still_held if other.until_ns > hold.since_ns]
        for other in still_held:
            if other.actor != hold.actor and hold.since_ns < _end(hold, other):
                return other, hold
        still_held.append(hold)
    return None


def _end(hold: Hold, other: Hold) -> int:
    """Two holds that begin at the same instant overlap only if neither was released at that instant."""
    return hold.until_ns if hold.since_ns == other.since_ns else other.until_ns
