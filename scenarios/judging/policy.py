"""The limits that a system states, by which checkers judge it. Pure."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeGuard, get_args

import msgspec

from scenarios.errors import MalformedPolicy

By = Literal["scope", "order_key", "user", "all"]
CatchUp = Literal["all", "last", "none"]
ErrorKind = Literal["transient", "permanent", "unknown"]
ACK_S = 5.0
"""Default of `ack_s`: how long after its attempt an acknowledgement may arrive."""
REPORT_S = 30.0
"""How long after a task ended its clients may read another state, if the policy states no `budget_s`."""


@dataclass(frozen=True, slots=True)
class Concurrency:
    """At most `n` attempts of one value of `by` run at once."""

    by: By
    n: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """Occurrences are due at `since_s` + k · `every_s`, up to `until_s`, both ends included.

    `catch_up`: which missed occurrences come later: all, only the last of each consecutive run, or none.
    """

    every_s: float
    since_s: float = 0.0
    until_s: float | None = None
    catch_up: CatchUp | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The limits that a system states. JSON names as in docs/history.md.

    `delays_s`: [least, most] seconds before each retry. `budget_s`: how long after healing the system may take to catch up.
    `overtakes_max`: maximum number of later submitted tasks that may overtake a waiting task. `wait_s`: a number, or a number for each
    priority, keyed by text. `catch_up`: what happens to missed occurrences of the schedules that clients set up; `schedules` state it
    for each. `dead_letters`: each transition to DEAD has a dead letter. `renew_s`: maximum time that an attempt works without
    renewing its lease. `ends_at_deadline`: a task that is not done by its deadline expires, also if it runs. `permanent_errors`: the
    errors after which a task is not tried again. `lease_owner`: who ends a lease of `lease_s`. `warnings`: made when the policy is read,
    not stated by the system.
    """

    attempts_max: int | None = None
    delays_s: tuple[tuple[float, float], ...] | None = None
    tolerance_s: float | None = None
    budget_s: float | None = None
    grace_s: float | None = None
    ack_s: float | None = None
    lease_s: float | None = None
    key_window_s: float | None = None
    result_ttl_s: float | None = None
    wait_s: float | dict[str, float] | None = None
    window: Mapping[str, object] | None = None
    execution_window: Mapping[str, object] | None = None
    overtakes_max: int | None = None
    order: Literal["starts", "serial"] | None = None
    coalesce: bool | None = None
    concurrency: Concurrency | None = None
    schedules: Mapping[str, Schedule] | None = None
    catch_up: CatchUp | None = None
    dead_letters: bool | None = None
    renew_s: float | None = None
    ends_at_deadline: bool | None = None
    permanent_errors: tuple[ErrorKind, ...] | None = None
    lease_owner: Literal["worker", "broker"] | None = None
    warnings: tuple[str, ...] | None = None

    def is_permanent(self, error: str | None) -> bool:
        """Whether a task that failed with this error is not tried again; unless stated otherwise, after `permanent` only."""
        return error == "permanent" if self.permanent_errors is None else error in self.permanent_errors

    def is_retried(self, error: str | None) -> bool:
        """Whether a retry by `delays_s` follows this error: a transient one, or one that the system takes for such."""
        return error in ("transient", "permanent") and not self.is_permanent(error)


NO_POLICY = Policy()

NUMBER_MAX = 1e9
"""Maximum of every number in a policy: seconds (some 31 years), attempts, tasks."""
EVERY_MIN_S = 0.001
"""Shortest distance between two occurrences of a schedule."""

_BOUNDS = (
    *("attempts_max", "tolerance_s", "budget_s", "grace_s", "overtakes_max"),
    *("ack_s", "lease_s", "renew_s", "key_window_s", "result_ttl_s"),
)
_WINDOW_NAMES = ("kind", "n", "per_s", "burst", "starts")


def policy_from(stated: Any) -> Policy:
    """The policy in a parsed JSON object; unknown fields become `warnings`.

    Raises:
        MalformedPolicy: a field of a wrong type, a negative bound, or an invalid window.
    """
    content = stated or {}
    if isinstance(content, Mapping):
        content = {name: value for name, value in content.items() if name != "warnings"}
    try:
        policy = msgspec.convert(content, Policy)
    except msgspec.ValidationError as error:
        raise MalformedPolicy(f"invalid policy: {error}") from error
    for name in _BOUNDS:
        _check_bound(name, getattr(policy, name))
    waits = policy.wait_s if isinstance(policy.wait_s, dict) else {"": policy.wait_s}
    for bound in waits.values():
        _check_bound("wait_s", bound)
    for least_s, most_s in policy.delays_s or ():
        if not 0 <= least_s <= most_s <= NUMBER_MAX:
            raise MalformedPolicy(f"the policy's delays_s holds [{least_s}, {most_s}]: not [least, most]{_AT_MOST}")
    if policy.window is not None:
        _check_window("window", policy.window)
    if policy.execution_window is not None:
        _check_window("execution_window", policy.execution_window)
    if policy.lease_owner == "broker" and policy.lease_s is None:
        raise MalformedPolicy(
            "the policy's lease_owner is 'broker', but it states no lease_s: add how long a message is leased"
        )
    if policy.concurrency is not None:
        _check_bound("concurrency.n", policy.concurrency.n)
    for name, schedule in (policy.schedules or {}).items():
        _check_schedule(name, schedule)
    warnings = tuple(_unknown_names(content))
    return replace(policy, warnings=warnings) if warnings else policy


def _check_bound(name: str, bound: float | None) -> None:
    if bound is not None and not 0 <= bound <= NUMBER_MAX:
        raise MalformedPolicy(f"the policy's {name} is {_short(bound)}: not a number from 0 to {NUMBER_MAX:,.0f}")


def _check_window(name: str, window: Mapping[str, object]) -> None:
    """Check the fields that the checkers of limits rely on."""
    if window.get("kind") not in ("sliding", "fixed", "bucket"):
        raise MalformedPolicy(f"the policy's {name} has kind = {window.get('kind')!r}; use sliding, fixed or bucket")
    n, per_s, burst = window.get("n"), window.get("per_s"), window.get("burst")
    if not isinstance(n, int) or isinstance(n, bool) or not 0 <= n <= NUMBER_MAX:
        raise MalformedPolicy(f"the policy's {name} allows n = {_short(n)}{_AT_MOST}")
    if not isinstance(per_s, int | float) or not 0 < per_s <= NUMBER_MAX:
        raise MalformedPolicy(f"the policy's {name} has per_s = {_short(per_s)}{_AT_MOST}")
    if burst is not None and (not isinstance(burst, int | float) or not 0 <= burst <= NUMBER_MAX):
        raise MalformedPolicy(f"the policy's {name} has burst = {_short(burst)}{_AT_MOST}")
    if window.get("starts") not in (None, "first"):
        raise MalformedPolicy(f"the policy's {name} has starts = {window.get('starts')!r}; the only value is 'first'")
    if window.get("by") not in (None, *get_args(By)):
        raise MalformedPolicy(
            f"the policy's {name} has by = {window.get('by')!r}; use one of {', '.join(get_args(By))}"
        )


def _check_schedule(name: str, schedule: Schedule) -> None:
    until_s = schedule.since_s if schedule.until_s is None else schedule.until_s
    if not EVERY_MIN_S <= schedule.every_s <= NUMBER_MAX:
        why = f"not a number of seconds from {EVERY_MIN_S:g} to {NUMBER_MAX:,.0f}"
        raise MalformedPolicy(f"the policy's schedule {name!r} has every_s = {schedule.every_s!r}: {why}")
    if not abs(schedule.since_s) <= NUMBER_MAX or not abs(until_s) <= NUMBER_MAX:
        ends = f"from {schedule.since_s!r} to {schedule.until_s!r}"
        raise MalformedPolicy(f"the policy's schedule {name!r} goes {ends}{_AT_MOST}")


_AT_MOST = f" ({NUMBER_MAX:,.0f} at most)"


def _short(number: object) -> str:
    """A number for a message, shortened: integers may have thousands of digits."""
    text = f"a number of {number.bit_length()} bits" if _is_long(number) else repr(number)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _is_long(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and number.bit_length() > 128


def _unknown_names(content: Any) -> Iterator[str]:
    """One sentence for each unknown field, with the most similar known one."""
    known = tuple(field.name for field in fields(Policy) if field.name != "warnings")
    yield from _unknown_fields("the policy", content, known)
    for name, more in (("window", ()), ("execution_window", ("by",))):
        yield from _unknown_fields(f"the policy's {name}", content.get(name), (*_WINDOW_NAMES, *more))
    yield from _unknown_fields("the policy's concurrency", content.get("concurrency"), ("by", "n"))
    for name, schedule in (content.get("schedules") or {}).items():
        known = tuple(field.name for field in fields(Schedule))
        yield from _unknown_fields(f"the policy's schedule {name!r}", schedule, known)


def _unknown_fields(where: str, content: Any, known: tuple[str, ...]) -> Iterator[str]:
    for name in content or ():
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.0)
            yield f"{where} has an unknown field: {name!r}; the most similar one is {near[0]!r}"
