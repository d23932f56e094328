"""What a system says of its own limits: the measure that judges hold it to. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from scenarios.errors import MalformedPolicy


@dataclass(frozen=True, slots=True)
class Policy:
    """What the system says of its own limits; judges measure against it. Spelt in JSON as in docs/history.md.

    `delays_s`: [least, most] seconds before each retry. `budget_s`: how long after healing the system may take to catch up.
    `overtakes_max`: by how many tasks that were submitted after it a waiting task may be overtaken.
    """

    attempts_max: int | None = None
    delays_s: tuple[tuple[float, float], ...] | None = None
    tolerance_s: float | None = None
    budget_s: float | None = None
    grace_s: float | None = None
    window: Mapping[str, object] | None = None
    overtakes_max: int | None = None


NO_POLICY = Policy()


def policy_from(fields: Any) -> Policy:
    """The policy that a parsed JSON object states; names that are no part of a policy are passed over.

    Raises:
        MalformedPolicy: a field of a wrong type, a negative bound, or a window that is none.
    """
    try:
        policy = msgspec.convert(fields or {}, Policy)
    except msgspec.ValidationError as error:
        raise MalformedPolicy(f"the policy is none: {error}") from error
    for name in ("attempts_max", "tolerance_s", "budget_s", "grace_s", "overtakes_max"):
        bound: float | None = getattr(policy, name)
        if bound is not None and not 0 <= bound < float("inf"):
            raise MalformedPolicy(f"the policy's {name} is {bound}")
    for least_s, most_s in policy.delays_s or ():
        if not 0 <= least_s <= most_s < float("inf"):
            raise MalformedPolicy(f"the policy's delays_s holds [{least_s}, {most_s}]: not [least, most]")
    if policy.window is not None:
        _check_window(policy.window)
    return policy


def _check_window(window: Mapping[str, object]) -> None:
    """A window has the kind, the number and the length that the judge of limits counts on."""
    if window.get("kind") not in ("sliding", "fixed", "bucket"):
        raise MalformedPolicy(f"the policy's window is of no known kind: {window.get('kind')!r}")
    n, per_s, burst = window.get("n"), window.get("per_s"), window.get("burst")
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise MalformedPolicy(f"the policy's window allows n = {n!r}")
    if not isinstance(per_s, int | float) or not 0 < per_s < float("inf"):
        raise MalformedPolicy(f"the policy's window has per_s = {per_s!r}")
    if burst is not None and (not isinstance(burst, int | float) or not 0 <= burst < float("inf")):
        raise MalformedPolicy(f"the policy's window has burst = {burst!r}")
