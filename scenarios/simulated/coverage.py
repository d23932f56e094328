"""Coverage: which fault has struck in which phase of a task's life, over many worlds, so that phases never struck are visible."""

from collections import Counter
from collections.abc import Mapping, Sequence

from chaos.simulation.kernel.trace import Step
from chaos.simulation.world import World

PHASES = (
    "before submit commit",
    "after commit, before reply",
    "before publish",
    "after publish, before confirm",
    "after confirm, before marked sent",
    "queued",
    "delivered, before claim",
    "after claim, before effect",
    "during effect",
    "after effect, before completion",
    "after completion, before ack",
    "after ack, before its arrival",
)
"""From submission to acknowledgement; a strike on a process that works on no task is not counted."""

PHASE_OF_POINT: Mapping[str, str] = {
    "attempt": "after claim, before effect",
    "effect": "after effect, before completion",
}
"""The phase of a process that is held at a sync point of the outside resource."""

LOOK_BACK = 400
"""Maximum number of past steps read to find the phase of a fiber."""


class Coverage:
    """Counts by fault and phase."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def add(self, fault: str, phases: Sequence[str]) -> None:
        """Count a strike of the fault in each of these phases."""
        for phase in phases:
            self.counts[fault, phase] += 1

    def phases(self, world: World, target: str) -> list[str]:
        """The phases of the target's fibers (of all fibers, if it is no process), and `queued` if messages wait."""
        name = target.partition("→")[0]
        processes = [world.processes[name]] if name in world.processes else list(world.processes.values())
        phases = [
            phase_of(fiber.name, process.plan.role, world.trace.steps)
            for process in processes
            if process.life is not None
            for fiber in process.life.fibers
        ]
        if any(queue.ready or queue.returned for queue in world.broker.queues.values()):
            phases.append("queued")
        return [phase for phase in phases if phase]


def phase_of(fiber: str, role: str, steps: Sequence[Step]) -> str:
    """The phase of a fiber, by its latest steps; "" if it works on no task."""
    own: list[Step] = []
    for step in reversed(steps[-LOOK_BACK:]):
        if step.fiber == fiber:
            own.append(step)
            if step.what in _BEGINNINGS:
                break
    own.reverse()
    if role == "worker":
        return _worker_phase(own)
    if role == "relay":
        return _relay_phase(own)
    if role == "api":
        return "after commit, before reply" if any(step.what == "commit" for step in own) else "before submit commit"
    return ""


def phase_at_call(phase: str, what: str, side: str) -> str:
    """The phase in which a call is struck, given the phase of its fiber."""
    return _AT_CALL.get((what, side), phase)


_AT_CALL: Mapping[tuple[str, str], str] = {
    ("publish", "before"): "before publish",
    ("publish", "after"): "after publish, before confirm",
    ("effect", "before"): "during effect",
    ("effect", "after"): "after effect, before completion",
    ("ack", "before"): "after completion, before ack",
    ("ack", "after"): "after ack, before its arrival",
}

_BEGINNINGS = frozenset({"ack", "requeue", "consume", "declare"})


def _worker_phase(own: Sequence[Step]) -> str:
    done = [step.what for step in own]
    if "effect" in done:
        last = len(done) - 1 - done[::-1].index("effect")
        return "after completion, before ack" if "commit" in done[last:] else "after effect, before completion"
    if "commit" in done:
        return "after claim, before effect"
    if done and done[0] == "ack":
        return "delivered, before claim" if len(done) > 1 else "after ack, before its arrival"
    return "delivered, before claim" if len(done) > 1 else ""


def _relay_phase(own: Sequence[Step]) -> str:
    done = [step.what for step in own]
    for what in reversed(done):
        if what == "publish":
            return "after confirm, before marked sent"
        if what in ("update outbox", "select outbox"):
            break
    claimed = [what for what in done if what in ("update outbox", "publish", "commit")]
    return "before publish" if claimed[-2:] == ["update outbox", "commit"] or claimed[-1:] == ["update outbox"] else ""
