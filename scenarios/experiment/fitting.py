"""Whether a scenario fits a system and an environment, and which of the system's processes it has to stand between."""

from collections.abc import Sequence

from chaos.environment import Environment, ProcessSpec, Services
from chaos.faults import REACHED, Fault
from scenarios.contract.guard import answered_processes, plugin_call
from scenarios.contract.system import Embeddable, Handlers, System
from scenarios.errors import NotApplicable
from scenarios.experiment.nemesis import process_playing
from scenarios.experiment.scenario import LeaderAtWork, Scenario

LEADER_ROLE = "rescuer"


def processes_of(
    system: System, environment: Environment, services: Services, handlers: Handlers
) -> Sequence[ProcessSpec]:
    """The system's processes in this environment.

    Raises:
        NotApplicable: the environment lacks a service that the system needs.
    """
    if environment.name == "embedded" and isinstance(system, Embeddable):
        with plugin_call(system.name, "embedded_processes()"):
            found = system.embedded_processes(services, handlers)
        return answered_processes(system.name, "embedded_processes()", found)
    missing = sorted(system.needs - environment.offers)
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
    """The names of the processes between which and their services the lab has to stand.

    Raises:
        NotApplicable: a fault of the scenario has nothing to strike.
    """
    specs = processes_of(system, environment, services, Handlers({}))
    linked: list[str] = []
    for strike in scenario.strikes:
        if isinstance(strike.when, LeaderAtWork) and process_playing(LEADER_ROLE, specs) is None:
            raise NotApplicable(f"{system.name} has no leader: no process in the role {LEADER_ROLE!r}")
        process = _process_aimed_at(strike.fault, system, specs)
        _check_services(strike.fault, system, environment)
        if process is not None and strike.fault.needs_link:
            linked.append(process)
    return tuple(dict.fromkeys(linked))


def _process_aimed_at(fault: Fault, system: System, specs: Sequence[ProcessSpec]) -> str | None:
    role = fault.struck_process
    if role is None or role == REACHED:
        return None
    process = process_playing(role, specs)
    if process is None:
        raise NotApplicable(f"{fault.name} has nothing to strike: {system.name} has no process in the role {role!r}")
    return process


def _check_services(fault: Fault, system: System, environment: Environment) -> None:
    service = fault.struck_service
    if service is None:
        return
    if service not in system.needs:
        raise NotApplicable(f"{fault.name} has nothing to strike: {system.name} does not use {service}")
    if service not in environment.offers:
        raise NotApplicable(f"{fault.name} needs {service}, which the environment {environment.name!r} lacks")
