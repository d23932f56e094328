"""What a task system can do beyond taking a task and ending it: the lab plans nothing else. Pure."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from scenarios.errors import UnknownName
from scenarios.judging.guarantees import Guarantee

OWN_BODY = "own_body"
NO_TAKEOVER = "no_takeover"
CAPABILITIES: Mapping[str, str] = MappingProxyType(
    {
        "submit": "clients submit tasks; every system can",
        "status": "clients read how a task is",
        "cancel": "clients withdraw tasks",
        "pause": "a person stops the tasks of a scope, or all",
        "resume": "a person lets paused tasks start again",
        "redrive": "a person puts dead tasks back",
        "schedule": "clients set up schedules, whose occurrences are tasks of the system's own",
        "key": "submissions of one user and idempotency key are one task, or another one by a stated rule",
        "deadline": "a submission has a `deadline_s` after which the task must not start",
        "due": "a submission has a `due_s` before which the task must not start",
        "order_key": "a submission has an `order_key`, whose tasks keep their order",
        "priority": "a submission has a `priority`",
        "scope": "a submission has a `scope`, which can be paused or limited by itself",
        "children": "what a handler hands back in `children` and `then` becomes tasks",
        "result": "what a handler hands back in `result` is kept for clients to read",
        NO_TAKEOVER: "no worker takes over what another that stands still has in hand: the lab awaits no takeover",
        OWN_BODY: "tasks run their own code: the lab plans nothing that its handler would have to do",
        "pool": "its workers run their tasks in child processes",
        "sentinels": "its processes ask the Sentinels of Redis for the present primary; without it, Redis is one server",
    }
)
"""Every capability by its name: the operations of a client, the optional fields of a submission, and what handlers hand back."""

_FOLLOWS_FROM: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        Guarantee.CANCEL_HONOURED: ("cancel",),
        Guarantee.PAUSE_HONOURED: ("pause", "resume"),
        Guarantee.IDEMPOTENT_SUBMISSION: ("key",),
        Guarantee.COALESCED_SUBMISSION_RUNS: ("key",),
        Guarantee.DEADLINE_HONOURED: ("deadline",),
        Guarantee.NOT_DONE_AFTER_DEADLINE: ("deadline",),
        Guarantee.NOT_BEFORE_DUE: ("due",),
        Guarantee.DUE_IN_TIME: ("due",),
        Guarantee.ORDER_KEPT: ("order_key",),
        Guarantee.PRIORITY_BOUNDED: ("priority",),
        Guarantee.SCHEDULE_KEPT: ("schedule",),
        Guarantee.RESULT_TRUTHFUL: ("result",),
    }
)


def implied_by(claims: Collection[str]) -> frozenset[str]:
    """The capabilities without which these promises would mean nothing: those of a system that does not state its own."""
    implied = {name for claim in claims for name in _FOLLOWS_FROM.get(claim, ())}
    return frozenset({"submit", "status", *implied})


def checked_capabilities(stated: Collection[str]) -> frozenset[str]:
    """The names, all of which exist.

    Raises:
        UnknownName: one does not; the message has the nearest one.
    """
    for name in sorted(stated):
        if name not in CAPABILITIES:
            raise UnknownName("capability", name, list(CAPABILITIES))
    return frozenset(stated)
