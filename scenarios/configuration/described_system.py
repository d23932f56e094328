"""A system that tasklab.toml describes: its client process answers requests about tasks, and is not asked to describe anything."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from chaos.environment import ProcessSpec, Services
from chaos.services.declared.program import ServiceProgram
from chaos.services.placeholders import filled, flat_values
from scenarios.configuration.description import PROCESS, SystemDescription
from scenarios.contract.system import Handlers
from scenarios.plugin.process import ClientProcess
from scenarios.plugin.protocol import DEADLINES_S, StatedProcess
from scenarios.plugin.remote_system import ClientProcesses, RemoteSystem, class_with
from scenarios.plugin.statements import SystemStatement, checked_processes


class DescribedSystem(RemoteSystem):
    """A system whose processes are stated by a file, with the addresses of the run in place of placeholders."""

    description: SystemDescription
    own_services: Sequence[ServiceProgram]

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        """The processes of the file. From the first run directory on, the log of the client process is kept there."""
        self.process_of(services, handlers)
        self.check()  # a program that ends at its start is said before the run
        stated = [_with_addresses(one, services, handlers) for one in self.description.processes]
        return self.placed(checked_processes(self.name, stated))


def described_system(description: SystemDescription, *, deadlines_s: Mapping[str, float] = DEADLINES_S) -> RemoteSystem:
    """The described system; its client process is started, and gets its first request in a run.

    Raises:
        PluginLost: the client process does not start.
    """

    def start() -> tuple[ClientProcess, SystemStatement]:
        process = ClientProcess(description.client, directory=description.directory, deadlines_s=deadlines_s)
        return process, description.statement

    processes = ClientProcesses(start)
    kind = class_with(DescribedSystem, description.statement.powers, description.statement.summary)
    system = kind(processes, description.statement, description.directory)
    system.description = description
    system.own_services = description.services
    return system


def _with_addresses(process: StatedProcess, services: Services, handlers: Handlers) -> StatedProcess:
    values = {**flat_values(services.as_seen_by(process.name)), PROCESS: process.name}
    env = {**handlers.environment_of(process.name), **{key: filled(text, values) for key, text in process.env.items()}}
    if "PYTHONPATH" in process.env and "PYTHONPATH" in handlers.environment:
        env["PYTHONPATH"] = f"{handlers.environment['PYTHONPATH']}:{env['PYTHONPATH']}"  # the probe stays importable
    return replace(
        process,
        argv=tuple(filled(text, values) for text in process.argv),
        env=env,
        cwd=None if process.cwd is None else str(Path(filled(process.cwd, values))),
    )
