"""The limits and the pace that a system states, checked before anything runs."""

import math
from dataclasses import dataclass, fields

import msgspec

from scenarios.errors import MalformedPolicy
from scenarios.judging.policy import Policy, policy_from

SECONDS_MAX = 86_400.0
"""Maximum of every duration in a pace: one day. The lab cannot wait longer."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Durations of a system in seconds, so that the lab waits, and faults last, long enough.

    `quiet_s`: the longest time without progress while there is still work; the drain ends after this time without progress.
    `lease_s`: how long an attempt without renewal keeps its task; `lock_s`: a leader without renewal its lock. None: it has none.
    """

    quiet_s: float = 10.0
    lease_s: float | None = None
    lock_s: float | None = None


def checked_pace(system: str, pace: object) -> Pace:
    """The pace, checked.

    Raises:
        MalformedPolicy: it is not a Pace, or a field is not a finite number of seconds from 0 to a day; the message names it.
    """
    if not isinstance(pace, Pace):
        raise MalformedPolicy(f"{system}: its pace is {pace!r}, not a Pace")
    for field in fields(Pace):
        value = getattr(pace, field.name)
        if value is None and field.name != "quiet_s":
            continue
        if not _is_duration(value):
            raise MalformedPolicy(
                f"{system}: its pace states {field.name} = {value!r}; it must be a number of seconds from 0 to {SECONDS_MAX:g}"
            )
    return pace


def checked_policy(system: str, policy: object) -> Policy:
    """The policy, checked.

    Raises:
        MalformedPolicy: it is not a Policy, or a field is not finite, negative or of a wrong type; the message names it.
    """
    if not isinstance(policy, Policy):
        raise MalformedPolicy(f"{system}: its policy is {policy!r}, not a Policy")
    stated = {field.name: getattr(policy, field.name) for field in fields(Policy)}
    for name, value in stated.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise MalformedPolicy(f"{system}: its policy states {name} = {value!r}; it must be finite")
    try:
        policy_from(msgspec.to_builtins(policy))
    except (MalformedPolicy, TypeError) as error:
        raise MalformedPolicy(f"{system}: {error}") from error
    return policy


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= SECONDS_MAX
