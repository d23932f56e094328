"""RabbitMQ: a node that the lab runs; its round trip declares a quorum queue, publishes with confirm and gets the message back."""

import os
import re
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pamqp import commands
from pamqp.exceptions import PAMQPException

from chaos import binaries
from chaos.deadline import Deadline
from chaos.errors import ServiceUnavailable
from chaos.hosting.warden_client import ChildProcess, WardenClient
from chaos.ports import LOOPBACK, PortAllocator
from chaos.services.addresses import RabbitmqAddress, Services
from chaos.services.rabbitmq import virtual_host
from chaos.services.rabbitmq.amqp_client import AmqpClient
from chaos.services.rabbitmq.quorum_queues import QuorumQueues, unsaved
from chaos.services.server import ROUND_TRIP_TIMEOUT_S, SingleProcessServer

USER = "tasklab"
NODE = "tasklab@localhost"
EVALUATE_TIMEOUT_S = 30.0
_CALL = f"fun(M, F, A) -> rpc:call('{NODE}', M, F, A) end"
HEALTH_QUEUE = "tasklab.health"
ALWAYS_NEEDED = ("rabbit", "cuttlefish")
"""Applications that every node loads: the broker, and the reader of configuration files, which no application lists."""

APPLICATIONS = re.compile(r"\{\s*applications\s*,\s*\[(.*?)\]", re.DOTALL)


def missing(address: RabbitmqAddress, timeout_s: float = ROUND_TRIP_TIMEOUT_S) -> str:
    """The failing step of a round trip to the broker; "" if a confirmed message came back from a quorum queue."""
    where = f"{address.host}:{address.port}"
    token = secrets.token_hex(8).encode()
    step = "connection"
    try:
        with AmqpClient(address, Deadline.after(timeout_s)) as client:
            step = "quorum queue"
            declare = commands.Queue.Declare(queue=HEALTH_QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
            client.call(declare, commands.Queue.DeclareOk)
            step = "confirm"
            client.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
            if not client.publish_confirmed(HEALTH_QUEUE, token):
                return f"{where} refused a message"
            step = "message"
            while (content := client.get(HEALTH_QUEUE)) != token:  # messages of earlier round trips
                if content is None:
                    return f"a confirmed message did not come back from {where}"
            client.call(commands.Queue.Delete(queue=HEALTH_QUEUE), commands.Queue.DeleteOk)
    except (OSError, PAMQPException) as error:
        return f"no {step} at {where} ({error or type(error).__name__})"
    return ""


def read_version(address: RabbitmqAddress, timeout_s: float = ROUND_TRIP_TIMEOUT_S) -> str:
    """As the broker reports it when a client connects."""
    with AmqpClient(address, Deadline.after(timeout_s)) as client:
        return client.server_version


class RabbitmqServer(SingleProcessServer):
    """One RabbitMQ node with its own epmd, default limits and no plugin. Not among `children`: epmd, which the node restarts."""

    name = "rabbitmq"
    ports_needed = 3  # AMQP, distribution, epmd

    def __init__(self, warden: WardenClient, directory: Path, allocator: PortAllocator) -> None:
        super().__init__(warden, directory, allocator)
        self._password = secrets.token_hex(12)
        self._epmd: ChildProcess | None = None
        self._start_script = Path()
        self._quorum_queues = QuorumQueues(self._unsaved, self._configs)

    def address(self) -> RabbitmqAddress:
        """Its address, for a user with all rights."""
        return RabbitmqAddress(LOOPBACK, self.ports[0], USER, self._password)

    def provide(self, services: Services) -> Services:
        """The services of a run with its address and an empty virtual host; those of earlier runs are removed."""
        name = services.namespace
        virtual_host.check_fresh(name, self._evaluate(virtual_host.fresh(_CALL, name, USER)))
        return replace(services, rabbitmq=replace(self.address(), vhost=name))

    def queue_names(self, vhost: str) -> list[str]:
        """The queues of that virtual host."""
        return virtual_host.queue_names(self._evaluate(virtual_host.queues(_CALL, vhost)))

    def missing(self) -> str:
        """The failing step of a round trip, or ""."""
        return missing(self.address())

    def version(self) -> str:
        """As the broker reports it when a client connects."""
        return read_version(self.address())

    def kill(self) -> str:
        """As every server, after the time in which RabbitMQ would forget a new queue, see `QuorumQueues`."""
        self._quorum_queues.await_saved()
        return super().kill()

    def confirmed_data_lost_by_kill(self) -> str:
        """The quorum queues that it has forgotten all the same."""
        return self._quorum_queues.confirmed_data_lost_by_kill()

    def _evaluate(self, expression: str) -> str:
        """The output of the expression in a separate Erlang node connected to the broker (rabbitmqctl takes five times as long)."""
        cookie = (self.directory / "home" / ".erlang.cookie").read_text().strip()
        interface = ("-kernel", "inet_dist_use_interface", "{127,0,0,1}")
        name = f"lab{secrets.token_hex(6)}@localhost"
        argv = [str(binaries.require(self.name, "erl")), "-noshell", "-noinput", "-hidden", "-sname", name]
        argv += ["-setcookie", cookie, *interface, "-eval", f"{expression}, halt(0)."]
        try:
            done = subprocess.run(
                argv, env=self._environment(), capture_output=True, text=True, timeout=EVALUATE_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no answer within {EVALUATE_TIMEOUT_S:g} s"
        return done.stdout + done.stderr

    def _unsaved(self) -> str:
        saved_s = [written_s for written_s, _ in self._quorum_files("names.dets")]
        return unsaved(saved_s, [written_s for written_s, _ in self._quorum_files("*/config")])

    def _configs(self) -> Iterator[str]:
        return (content for _, content in self._quorum_files("*/config"))

    def _quorum_files(self, pattern: str) -> Iterator[tuple[float, str]]:
        """When each file was written, and its content."""
        for path in (self.directory / "mnesia").glob(f"*/quorum/*/{pattern}"):
            with suppress(FileNotFoundError):  # its queue was deleted meanwhile
                yield path.stat().st_mtime, path.read_text(errors="replace")

    def _prepare(self, deadline: Deadline) -> None:
        server = binaries.require(self.name, "rabbitmq-server")
        for program in ("epmd", "erl"):
            binaries.require(self.name, program)
        home = binaries.rabbitmq_home(server)
        if home is None:
            raise ServiceUnavailable(self.name, f"no RabbitMQ home with `sbin` and `plugins` found for {server}")
        self._start_script = _minimal_copy(home, self.directory / "broker")
        for part in ("home", "mnesia", "logs"):
            (self.directory / part).mkdir()

    def _spawn(self) -> None:
        if self._epmd is None or self._epmd.exit_code is not None:
            argv = [str(binaries.require(self.name, "epmd")), "-port", str(self.ports[2]), "-address", LOOPBACK]
            self._epmd = self._warden.spawn("epmd", argv, log=self.directory / "epmd.log", cwd=self.directory)
        (self.directory / "advanced.config").write_text(
            f'[{{rabbit, [{{tcp_listeners, [{{"{LOOPBACK}", {self.ports[0]}}}]}},'
            f' {{default_user, <<"{USER}">>}}, {{default_pass, <<"{self._password}">>}}]}}].\n'
        )
        log = self.directory / "rabbitmq.log"
        argv = [str(self._start_script)]
        self._child = self._warden.spawn("rabbitmq", argv, log=log, env=self._environment(), cwd=self.directory)

    def _environment(self) -> dict[str, str]:
        """The lab's environment without variables of other nodes, and with those that keep all files in one directory."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("RABBITMQ_", "ERL_"))}
        return {
            **inherited,
            "PATH": binaries.search_path(),
            "HOME": str(self.directory / "home"),  # of the Erlang cookie
            "ERL_EPMD_PORT": str(self.ports[2]),
            "ERL_EPMD_ADDRESS": LOOPBACK,
            "ERL_CRASH_DUMP_SECONDS": "0",
            "RABBITMQ_SCRIPTS_DIR": str(self._start_script.parent),
            "RABBITMQ_NODENAME": NODE,
            "RABBITMQ_DIST_PORT": str(self.ports[1]),
            "RABBITMQ_CONF_ENV_FILE": str(self.directory / "rabbitmq-env.conf"),
            "RABBITMQ_CONFIG_FILE": str(self.directory / "rabbitmq"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.directory / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.directory / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.directory / "logs"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": str(self.directory / "rabbitmq.pid"),
            # The script execs the virtual machine instead of waiting for it, so that kill -9 hits the broker itself.
            "RABBITMQ_ALLOW_INPUT": "1",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-noinput -kernel inet_dist_use_interface {127,0,0,1}",
        }


def _minimal_copy(home: Path, to: Path) -> Path:
    """A RabbitMQ home of symbolic links with only the applications that a node without plugins loads; returns its start script.

    The broker searches every directory of `plugins` for every module that it loads: with its sixty-odd plugins, none of
    them enabled, half of its start is spent on directories that it does not need (4.1 s against 1.9 s).
    """
    plugins = {path.name.rpartition("-")[0]: path for path in (home / "plugins").iterdir() if path.is_dir()}
    needed: dict[str, Path] = {}
    to_visit = list(ALWAYS_NEEDED)
    while to_visit:
        name = to_visit.pop()
        if name in needed or name not in plugins:  # other applications are part of Erlang
            continue
        needed[name] = plugins[name]
        listed = APPLICATIONS.search((plugins[name] / "ebin" / f"{name}.app").read_text())
        to_visit += re.findall(r"\w+", listed[1]) if listed else []
    if "rabbit" not in needed:
        return home / "sbin/rabbitmq-server"
    for directory, paths in (("plugins", needed.values()), ("sbin", (home / "sbin").iterdir())):
        (to / directory).mkdir(parents=True)
        for path in paths:
            (to / directory / path.name).symlink_to(path.resolve())
    (to / "escript").symlink_to(home / "escript")
    return to / "sbin/rabbitmq-server"
