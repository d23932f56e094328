"""How much a system works: its calls of services by kind, compared with those of the unchanged reference in the same worlds. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

from chaos.simulation.kernel.trace import Step

Work = Mapping[str, int]
"""Number of calls by kind: role and loop of the caller, service, and operation."""

COMPARED_AFTER = (24, 48, 96, 192, 384, 768, 1536)
"""Numbers of worlds. In many worlds together, another order of events changes little: in 24, 48, 96 and 192 worlds with the same plans but
other delays, no kind of call that occurs once a world had more than 1.21 times as many."""
TIMES_MAX = 2
MORE_MAX = 1
"""For each world besides."""


def calls_of(steps: Iterable[Step]) -> Counter[str]:
    """The calls of the system's processes, by kind."""
    return Counter(f"{_kind(step.fiber)} {step.service}: {step.what}" for step in steps if "/" in step.fiber)


def excess(worlds: int, work: Work, control: Work) -> str:
    """The kind of call of which there are far more than in the control, in words; empty: there is none."""
    bounds = {kind: TIMES_MAX * control.get(kind, 0) + MORE_MAX * worlds for kind in work}
    kind = max(work, key=lambda one: work[one] / bounds[one], default="")
    if not kind or work[kind] <= bounds[kind]:
        return ""
    return f"{kind}, {work[kind]} times instead of {control.get(kind, 0)}"


def _kind(fiber: str) -> str:
    """`worker-1.2/slot 1` is `worker slot`; a request of an API, `api-1/client-task-1:2`, is `api`."""
    process, _, loop = fiber.partition("/")
    role = process.partition("-")[0]
    return role if ":" in loop else f"{role} {loop.partition(' ')[0]}"
