"""What clients saw: the answers that were no success, by operation, outcome and message, with an example each."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from scenarios.record.history import Event

KINDS_MAX = 12
"""Kinds of errors that the page shows; the most frequent first."""
NO_DETAIL = "no message"
_VARYING = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\d+")
"""What differs between two messages of one kind: addresses, UUIDs, numbers."""


@dataclass(frozen=True, slots=True)
class ClientError:
    """One kind of error. `outcome`: fail or info; `example`: the first message, which task it was about, and when."""

    operation: str
    outcome: str
    n: int
    example: str
    task: str
    first_ns: int
    last_ns: int


def client_errors(events: Iterable[Event]) -> tuple[ClientError, ...]:
    """Every kind of error, the most frequent first."""
    kinds: dict[tuple[str, str], ClientError] = {}
    for event in events:
        operation, _, outcome = event.event.partition(".")
        if outcome not in ("fail", "info") or operation not in ("submit", "status", "cancel"):
            continue
        detail = event.detail or NO_DETAIL
        key = event.event, _VARYING.sub("N", detail)
        known = kinds.get(key)
        if known is None:
            kinds[key] = ClientError(operation, outcome, 1, detail, event.task or "", event.t_ns, event.t_ns)
        else:
            kinds[key] = replace(known, n=known.n + 1, last_ns=max(known.last_ns, event.t_ns))
    return tuple(sorted(kinds.values(), key=lambda error: (-error.n, error.first_ns)))
