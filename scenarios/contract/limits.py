"""What a system states of its own limits and its pace, checked where it is given: a wrong figure is found before anything runs."""

import math
from dataclasses import dataclass, fields

import msgspec

from scenarios.errors import MalformedPolicy
from scenarios.judging.policy import Policy, policy_from

SECONDS_MAX = 86_400.0
"""A system that may rest, or hold a lease, for longer than a day cannot be waited for."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What the lab has to know of a system's inner clocks, to wait and to aim long enough; seconds.

    `quiet_s`: the longest that the system may rest although it still has something to do: when nothing has moved for that
    long, the drain has ended, whatever is left. `lease_s`: how long a silent attempt keeps its task, `lock_s`: a silent leader
    its lock; None where there is no such thing.
    """

    quiet_s: float = 10.0
    lease_s: float | None = None
    lock_s: float | None = None


def checked_pace(system: str, pace: object) -> Pace:
    """The pace, if every duration in it is one.

    Raises:
        MalformedPolicy: it is no Pace, or a field is not a finite number of seconds from 0 to a day; the message names it.
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
    """The policy, if every limit in it is one.

    Raises:
        MalformedPolicy: it is no Policy, or a field is not finite, negative or of a wrong type; the message names it.
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
