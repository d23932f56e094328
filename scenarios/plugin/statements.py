"""Checks the statements of a plug-in, before anything is started with them. Pure."""

import math
import re
import signal
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from chaos.environment import SERVICE_NAMES, ProcessSpec, ServiceName
from chaos.faults import FAULTS
from scenarios.contract.capabilities import checked_capabilities
from scenarios.contract.system import Pace, Policy
from scenarios.errors import MalformedPolicy, MalformedStatement, PluginFailed, UnknownName, nearest
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import policy_from
from scenarios.plugin.protocol import Description, StatedProcess
from scenarios.record.run_facts import Setting

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""Names of systems and processes are parts of file names."""
RESERVED = frozenset({"lab", "outside", "client-process"})
"""Names that the lab uses in histories and logs."""
SECONDS_MAX = 1e6
ATTEMPTS_MAX = 10_000
SIGNALS = frozenset(one.name for one in signal.Signals)


@dataclass(frozen=True, slots=True)
class SystemStatement:
    """The checked statements of a system. None: not stated."""

    name: str
    summary: str
    claims: frozenset[Guarantee]
    needs: frozenset[ServiceName]
    pace: Pace | None
    policy: Policy | None
    reservations: Mapping[str, frozenset[Guarantee]] | None
    powers: frozenset[str]
    capabilities: frozenset[str] | None
    versions: Mapping[str, str]
    facts: tuple[Setting, ...]
    documented: Mapping[Guarantee, str]
    documented_deaths: Mapping[Guarantee, str]


def checked(described: Description) -> SystemStatement:
    """The statement of a system.

    Raises:
        MalformedStatement: an invalid value: a duration below zero, an invalid policy, a name that is not a file name.
        UnknownName: an unknown promise, service, fault or capability.
    """
    name = described.name
    if not NAME.fullmatch(name):
        raise MalformedStatement(
            name[:64],
            f"the name {name[:80]!r}",
            "a name has 1 to 64 letters, digits, '_', '.' and '-', and begins with a letter or digit",
        )
    return SystemStatement(
        name=name,
        summary=described.summary,
        claims=_promises(described.claims),
        needs=frozenset(cast(Iterable[ServiceName], _known("service", described.needs, SERVICE_NAMES))),
        pace=None if described.pace is None else _pace(name, described.pace),
        policy=None if described.policy is None else _policy(name, described.policy),
        reservations=None if described.reservations is None else _reservations(described.reservations),
        powers=frozenset(described.powers),
        capabilities=None if described.capabilities is None else checked_capabilities(described.capabilities),
        versions=dict(described.versions),
        facts=described.facts,
        documented=_by_promise(described.documented),
        documented_deaths=_by_promise(described.documented_deaths),
    )


def checked_processes(system: str, stated: Collection[StatedProcess]) -> tuple[ProcessSpec, ...]:
    """The processes of a system.

    Raises:
        PluginFailed: a name that is not a file name or occurs twice, no program, an invalid environment variable.
    """
    counts = Counter(process.name for process in stated)
    for process in stated:
        why = _error_of(process) or ("two processes have this name" if counts[process.name] > 1 else "")
        if why:
            raise PluginFailed(system, "processes()", f"process {process.name[:80]!r}: {why}")
    return tuple(
        ProcessSpec(
            process.name,
            process.role,
            process.argv,
            process.env,
            cwd=None if process.cwd is None else Path(process.cwd),
            runs_once=process.runs_once,
            stop_signal=process.stop_signal,
            also=process.also,
        )
        for process in stated
    )


def known_promises(stated: Collection[str]) -> tuple[Guarantee, ...]:
    """The promises of these names, in this order; raises UnknownName."""
    by_name = {guarantee.value: guarantee for guarantee in Guarantee}
    return tuple(by_name[name] for name in _known("promise", stated, by_name))


def _error_of(process: StatedProcess) -> str:
    """The first error of a process, without regard to the others; empty if there is none."""
    if not NAME.fullmatch(process.name) or process.name in RESERVED:
        return "a name has 1 to 64 letters, digits, '_', '.' and '-', begins with a letter or digit, and is not one of the lab's own"
    if not process.role:
        return "its role is empty"
    if not process.argv or not process.argv[0]:
        return "argv names no program"
    if any("\0" in text for text in (*process.argv, *process.env, *process.env.values())):
        return "argv or env holds a zero byte"
    if any(not name or "=" in name for name in process.env):
        return "env holds a name that is empty or has '=' in it"
    if process.stop_signal not in SIGNALS:
        return f"stop_signal is {process.stop_signal!r}{_hint(process.stop_signal, SIGNALS)}"
    return ""


def _pace(system: str, stated: Mapping[str, Any]) -> Pace:
    names = [field.name for field in fields(Pace)]
    _known("field of pace", stated, names)
    for name, value in stated.items():
        if value is None and name != "quiet_s":
            continue
        if not _is_number(value) or not 0 < value <= SECONDS_MAX:
            raise MalformedStatement(
                system,
                f"pace.{name} = {value!r}",
                f"it must be a number of seconds above 0, at most {SECONDS_MAX:,.0f}",
            )
    return Pace(**stated)


def _policy(system: str, stated: Mapping[str, Any]) -> Policy:
    _known("field of policy", stated, [field.name for field in fields(Policy)])
    try:
        policy = policy_from({name: value for name, value in stated.items() if value is not None})
    except MalformedPolicy as error:
        raise MalformedStatement(system, "a policy", str(error)) from error
    for name, value in stated.items():
        if name.endswith("_s") and any(number > SECONDS_MAX for number in _numbers(value)):
            raise MalformedStatement(
                system, f"policy.{name} = {value!r}", f"at most {SECONDS_MAX:,.0f} seconds are allowed"
            )
    if policy.attempts_max is not None and not 1 <= policy.attempts_max <= ATTEMPTS_MAX:
        raise MalformedStatement(
            system, f"policy.attempts_max = {policy.attempts_max}", f"it must be a number from 1 to {ATTEMPTS_MAX:,}"
        )
    return policy


def _reservations(stated: Mapping[str, Collection[str]]) -> dict[str, frozenset[Guarantee]]:
    _known("fault", stated, FAULTS)
    return {fault: _promises(promises) for fault, promises in stated.items()}


def _promises(stated: Collection[str]) -> frozenset[Guarantee]:
    return frozenset(known_promises(stated))


def _known(kind: str, stated: Collection[str], known: Iterable[str]) -> Collection[str]:
    """The names, checked to be known."""
    names = list(known)
    for name in sorted(stated):
        if name not in names:
            raise UnknownName(kind, name, nearest(name, names) or names)
    return stated


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _numbers(value: Any) -> list[float]:
    if isinstance(value, list | tuple):
        return [number for item in value for number in _numbers(item)]
    return [value] if _is_number(value) else []


def _hint(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=2)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _by_promise(sentences: Mapping[str, str]) -> Mapping[Guarantee, str]:
    return dict(zip(known_promises(sentences), sentences.values(), strict=True))
