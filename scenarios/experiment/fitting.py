"""Whether a scenario fits a system and an environment, and which processes of the system need links."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chaos.environment import Environment, ProcessSpec, ServiceName, Services
from chaos.faults import REACHED, Fault
from chaos.services.declared.program import PARTS
from scenarios.contract.capabilities import NO_TAKEOVER, OWN_BODY
from scenarios.contract.guard import answered_processes, plugin_call
from scenarios.contract.system import (
    Embeddable,
    Handlers,
    System,
    capabilities_of,
    claims_under,
    needs_of,
    own_services_of,
)
from scenarios.errors import NotApplicable
from scenarios.experiment.scenario import KillsWorker, Scenario, TaskTakenOver, Trigger

HANDLER_ROLE = "worker"
"""Processes in this role run handlers: whatever process an attempt or an effect reaches plays it."""
FOLLOWED_SERVICE: ServiceName = "rabbitmq"
"""The service whose deliveries the lab follows, on links."""


def aimed(scenario: Scenario, parts: Mapping[str, str]) -> Scenario:
    """The scenario with each part that its faults name (one of PARTS) replaced by the service that plays it, as `parts` say."""
    strikes = tuple(replace(strike, fault=strike.fault.among(parts)) for strike in scenario.strikes)
    return replace(scenario, strikes=strikes)


def parts_of_system(system: System) -> Mapping[str, str]:
    """By part, the service that plays it: one of the system's own that says so, else one of the lab."""
    own = {service.plays: service.name for service in own_services_of(system) if service.plays is not None}
    return {**parts_of(system.needs), **own}


def parts_of(needs: frozenset[ServiceName]) -> Mapping[str, str]:
    """By part, the service of the lab that plays it. Redis is the broker where RabbitMQ is not needed, PostgreSQL where both are not.

    Beside RabbitMQ, Redis is the result backend of a system without a database, and the cache of one that has a database.
    """
    brokers = [service for service in ("rabbitmq", "redis", "postgresql") if service in needs]
    databases = [service for service in ("mysql", "postgresql") if service in needs]
    beside = [service for service in ("redis",) if {service, "rabbitmq"} <= needs]
    parts: Mapping[str, Sequence[str]] = {
        "broker": brokers,
        "database": databases,
        "cache" if databases else "result backend": beside,
    }
    return {part: played[0] for part, played in parts.items() if played}


def processes_of(
    system: System, environment: Environment, services: Services, handlers: Handlers
) -> Sequence[ProcessSpec]:
    """The system's processes in this environment.

    Raises:
        NotApplicable: the environment lacks a service that the system needs.
    """
    if not environment.offers and isinstance(system, Embeddable):
        with plugin_call(system.name, "embedded_processes()"):
            found = system.embedded_processes(services, handlers)
        return answered_processes(system.name, "embedded_processes()", found)
    missing = sorted(needs_of(system) - environment.offers)
    if missing:
        raise NotApplicable(
            f"{system.name} needs {', '.join(missing)}, which the environment {environment.name!r} does not offer"
        )
    with plugin_call(system.name, "processes()"):
        specs = system.processes(services, handlers)
    return answered_processes(system.name, "processes()", specs)


def processes_to_link(
    scenario: Scenario, system: System, environment: Environment, services: Services
) -> tuple[str, ...]:
    """The names of the processes that need links to their services: those at whose links a fault strikes, and, if a fault strikes
    RabbitMQ itself, those that run handlers, so that it is known which deliveries they have in hand.

    Raises:
        NotApplicable: the system lacks a capability that the scenario needs, or a fault of it has no target.
    """
    roles = roles_of(processes_of(system, environment, services, Handlers({})))
    _check(scenario, system, environment, roles)
    linked: list[str] = []
    for strike in scenario.strikes:
        process = _process_aimed_at(strike.fault, system, roles)
        if process is not None and strike.fault.needs_link:
            linked.append(process)
        elif process is None and strike.fault.struck_service == FOLLOWED_SERVICE:
            linked += [name for name, played in roles.items() if HANDLER_ROLE in played]
    return tuple(dict.fromkeys(linked))


def kills_workers(scenario: Scenario) -> bool:
    """Whether processes that run handlers die in it, by a fault or by their own task."""
    by_task = any(isinstance(trait, KillsWorker) for trait in scenario.workload.traits)
    return by_task or any(strike.fault.excuses == "crash" for strike in scenario.strikes)


def fits(scenario: Scenario, system: System, environment: Environment, roles: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether the scenario has a target in this system, whose processes play these roles."""
    try:
        _check(aimed(scenario, parts_of_system(system)), system, environment, roles)
    except NotApplicable:
        return False
    return True


def _check(scenario: Scenario, system: System, environment: Environment, roles: Mapping[str, tuple[str, ...]]) -> None:
    check_capabilities(scenario, capabilities_of(system))
    _check_claims(scenario, system)
    for strike in scenario.strikes:
        _check_role(strike.when, system, roles)
        _process_aimed_at(strike.fault, system, roles)
        _check_others(strike.fault, system, roles)
        _check_services(strike.fault, system, environment)
        if why := environment.can(strike.fault):
            raise NotApplicable(why)


def _check_claims(scenario: Scenario, system: System) -> None:
    faults = [strike.fault.name for strike in scenario.strikes]
    if system.claims and not claims_under(system, faults):
        raise NotApplicable(f"{system.name} makes no promise during {', '.join(faults)}")


def check_capabilities(scenario: Scenario, capabilities: frozenset[str]) -> None:
    """Raise NotApplicable if the system lacks a capability that the scenario is about, or the lab's handler, which it needs."""
    of_handler = [type(trait).__name__ for trait in scenario.workload.traits if trait.is_of_handler]
    if NO_TAKEOVER in capabilities and any(isinstance(one, TaskTakenOver) for one in scenario.premises):
        raise NotApplicable(
            f"{scenario.name} awaits a takeover, and no worker takes over what another that stands still has in hand"
        )
    if OWN_BODY in capabilities and of_handler:
        raise NotApplicable(
            f"{scenario.name} plans what only the lab's handler does ({', '.join(of_handler)}), and the tasks run their own code"
        )
    if lacking := sorted(set(scenario.needs) - capabilities):
        raise NotApplicable(
            f"the system does not state the capabilities that {scenario.name} needs: {', '.join(lacking)}"
        )


def roles_of(specs: Sequence[ProcessSpec]) -> Mapping[str, tuple[str, ...]]:
    """All roles of each process, by name."""
    return {spec.name: spec.roles for spec in specs}


def process_playing(role: str, roles: Mapping[str, tuple[str, ...]]) -> str | None:
    """The name of the first process with this role or name, or None. `worker:2` is the second one with that role."""
    if role in roles:
        return role
    role, _, number = role.partition(":")
    playing = [name for name, played in roles.items() if role in played]
    place = int(number) if number.isdecimal() else 1
    return playing[place - 1] if 1 <= place <= len(playing) else None


def _check_role(when: Trigger, system: System, roles: Mapping[str, tuple[str, ...]]) -> None:
    if when.role is not None and process_playing(when.role, roles) is None:
        raise NotApplicable(f"{system.name} has no {when.role_words}: no process in the role {when.role!r}")


def _process_aimed_at(fault: Fault, system: System, roles: Mapping[str, tuple[str, ...]]) -> str | None:
    role = fault.struck_process
    if role is None or role == REACHED:
        return None
    process = process_playing(role, roles)
    if process is None:
        raise NotApplicable(f"{fault.name} has no target: {system.name} has no process in the role {role!r}")
    return process


def _check_others(fault: Fault, system: System, roles: Mapping[str, tuple[str, ...]]) -> None:
    role = HANDLER_ROLE if fault.struck_process == REACHED else fault.struck_process
    playing = [name for name, played in roles.items() if role == name or role in played]
    if fault.is_final and len(playing) < 2:
        raise NotApplicable(
            f"{fault.name} leaves no process to take over: {system.name} has one process in the role {role!r}"
        )


def _check_services(fault: Fault, system: System, environment: Environment) -> None:
    service = fault.struck_service
    if service is None:
        return
    if service not in needs_of(system):
        article = "a " if service in PARTS else ""
        raise NotApplicable(f"{fault.name} has no target: {system.name} does not use {article}{service}")
    if service not in environment.offers:
        raise NotApplicable(f"{fault.name} needs {service}, which the environment {environment.name!r} lacks")
