"""Redis: a primary, its replica and three Sentinels; its round trip is a replicated write, with all Sentinels ready for a failover."""

import secrets
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from chaos import binaries
from chaos.deadline import Deadline
from chaos.errors import ServiceUnavailable
from chaos.hosting.warden_client import ChildProcess, WardenClient
from chaos.ports import LOOPBACK, PortAllocator
from chaos.services.addresses import RedisAddress, Services
from chaos.services.server import ROUND_TRIP_TIMEOUT_S, Server

PRIMARY_NAME = "tasklab"
NODES = 2
SENTINELS = 3
QUORUM = 2
DOWN_AFTER_MS = 1_500
"""More than the second that a Sentinel takes to reconnect: else it would declare a restarted primary dead."""

FAILOVER_TIMEOUT_MS = 2_000
"""A second failover can begin twice this time after the start of the first."""

EMPTY_TIMEOUT_S = 10.0
KEYS_SHOWN = 3
HEALTH_KEY = "tasklab:health"
DURABLE = ("--save", "", "--appendonly", "yes")
"""Arguments that preserve every write over kill -9 and a restart."""

NODE_ARGUMENTS = (
    *("--bind", LOOPBACK),
    *DURABLE,
    *("--repl-diskless-sync-delay", "0", "--repl-timeout", "10", "--repl-ping-replica-period", "1"),
)


def client(host: str, port: int, timeout_s: float = ROUND_TRIP_TIMEOUT_S) -> "redis.Redis":
    """A client without retries: those of redis-py would cause the duplicates that the lab looks for."""
    return redis.Redis(
        host=host,
        port=port,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )


def missing_write(host: str, port: int, *, replicas: int = 0, timeout_s: float = ROUND_TRIP_TIMEOUT_S) -> str:
    """Why a write to a primary failed, or has not reached that many replicas; "" if it can be read back."""
    where = f"{host}:{port}"
    token = secrets.token_hex(8)
    try:
        with closing(client(host, port, timeout_s)) as primary:
            primary.set(HEALTH_KEY, token, ex=60)
            if primary.get(HEALTH_KEY) != token:
                return f"a write to {where} cannot be read back"
            if replicas and primary.wait(replicas, round(timeout_s * 500)) < replicas:
                return f"a write to {where} has not reached {replicas} replica"
    except redis.RedisError as error:
        return f"no write to {where} ({error})"
    return ""


def empty(host: str, port: int, *, replicas: int = 0, timeout_s: float = EMPTY_TIMEOUT_S) -> None:
    """Remove every key of a server that the lab runs, and check that it and that many replicas hold none.

    Raises:
        ServiceUnavailable: keys are left (the message names some), or the server does not answer.
    """
    try:
        with closing(client(host, port, timeout_s)) as primary:
            primary.flushall()
            if replicas and primary.wait(replicas, round(timeout_s * 500)) < replicas:
                raise ServiceUnavailable("redis", f"the removal of all keys has not reached {replicas} replica")
            if left := foreign_keys(primary):
                raise ServiceUnavailable("redis", f"not clean: after the removal of all keys it holds {left}")
    except redis.RedisError as error:
        raise ServiceUnavailable("redis", f"its keys cannot be removed: {error}") from error


def foreign_keys(server: "redis.Redis") -> str:
    """The keys in its database 0, except that of the health round trip, as text; "" if none."""
    count = int(server.dbsize()) - bool(server.exists(HEALTH_KEY))
    if count <= 0:
        return ""
    found = islice((key for key in server.scan_iter(count=1000) if key != HEALTH_KEY), KEYS_SHOWN)
    return f"{count} keys ({', '.join(sorted(map(str, found)))}{', …' if count > KEYS_SHOWN else ''})"


def read_version(host: str, port: int) -> str:
    """From INFO."""
    with closing(client(host, port)) as server:
        return str(server.info("server")["redis_version"])


def missing_at_sentinels(
    sentinels: Sequence[tuple[str, int]], primary_name: str, primary: tuple[str, int], *, replicas: int
) -> str:
    """Why the Sentinels could not fail over from `primary`; "" if each knows it as up, its replicas, and the other Sentinels."""
    for host, port in sentinels:
        where = f"sentinel {host}:{port}"
        try:
            with closing(client(host, port)) as sentinel:
                state = _fields(_ask(sentinel, "SENTINEL", "MASTER", primary_name))
                known = [_fields(replica) for replica in _ask(sentinel, "SENTINEL", "REPLICAS", primary_name)]
        except redis.RedisError as error:
            return f"no answer from {where} ({error})"
        if (state["ip"], int(state["port"])) != primary:
            return f"{where} names {state['ip']}:{state['port']} as the primary, not {primary[0]}:{primary[1]}"
        if state["flags"] != "master":
            return f"{where} sees the primary as {state['flags']}"
        if int(state["num-other-sentinels"]) != len(sentinels) - 1:
            return f"{where} knows {state['num-other-sentinels']} other sentinels"
        well = [replica for replica in known if replica["flags"] == "slave" and replica["master-link-status"] == "ok"]
        if len(well) < replicas:
            return f"{where} sees {len(well)} of {replicas} replicas with its link up"
    return ""


def present_primary(address: RedisAddress) -> tuple[str, int]:
    """Host and port of the primary: as the Sentinels say, where there are any, because a failover may have moved it."""
    found = ask_primary(address.sentinels, address.primary_name) if address.sentinels else None
    return found or (address.host, address.port)


def ask_primary(sentinels: Sequence[tuple[str, int]], primary_name: str) -> tuple[str, int] | None:
    """The address that a majority of the Sentinels gives, or None without a majority."""
    answers: Counter[tuple[str, int]] = Counter()
    for host, port in sentinels:
        try:
            with closing(client(host, port)) as sentinel:
                answer = _ask(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", primary_name)
        except redis.RedisError:
            continue
        if answer:
            answers[(answer[0], int(answer[1]))] += 1
    best = answers.most_common(1)
    return best[0][0] if best and best[0][1] * 2 > len(sentinels) else None


def _ask(server: "redis.Redis", *command: str) -> Any:
    """The raw answer: versions of redis-py parse Sentinel's answers differently."""
    return server.execute_command(*command)  # type: ignore[no-untyped-call]


def _fields(answer: Sequence[str] | Mapping[str, str]) -> Mapping[str, str]:
    """The alternating names and values of a Sentinel's answer, as a mapping."""
    if isinstance(answer, Mapping):
        return answer
    return dict(zip(answer[::2], answer[1::2], strict=True))


class RedisServer(Server):
    """Two Redis nodes, one of them the primary, and three Sentinels."""

    name = "redis"
    ports_needed = NODES + SENTINELS

    def __init__(self, warden: WardenClient, directory: Path, allocator: PortAllocator) -> None:
        super().__init__(warden, directory, allocator)
        self._nodes: dict[int, ChildProcess] = {}
        self._sentinels: dict[int, ChildProcess] = {}

    @property
    def node_ports(self) -> tuple[int, ...]:
        """The ports of primary and replica; the Sentinels decide which one is the primary."""
        return self.ports[:NODES]

    @property
    def sentinels(self) -> tuple[tuple[str, int], ...]:
        """The addresses of the Sentinels."""
        return tuple((LOOPBACK, port) for port in self.ports[NODES:])

    def primary_port(self) -> int:
        """The port of the current primary, by the Sentinels' answers; before they run, that of the first node."""
        found = ask_primary(self.sentinels, PRIMARY_NAME) if self._sentinels else None
        return found[1] if found else self.node_ports[0]

    def address(self) -> RedisAddress:
        """The address of the current primary, and the Sentinels."""
        return RedisAddress(LOOPBACK, self.primary_port(), self.sentinels, PRIMARY_NAME)

    def provide(self, services: Services) -> Services:
        """The services of a run with the current primary and the Sentinels, without any key."""
        empty(LOOPBACK, self.primary_port(), replicas=NODES - 1)
        return replace(services, redis=self.address())

    @property
    def children(self) -> Sequence[ChildProcess]:
        """Nodes and Sentinels."""
        return [*self._nodes.values(), *self._sentinels.values()]

    @property
    def data_children(self) -> Sequence[ChildProcess]:
        """Both nodes: with a live replica the service would still be there."""
        return list(self._nodes.values())

    @property
    def data_ports(self) -> Sequence[int]:
        """The ports of both nodes."""
        return self.node_ports

    def missing(self) -> str:
        """Why a replicated write failed, or why the Sentinels could not fail over; "" if all is well."""
        port = self.primary_port()
        return missing_write(LOOPBACK, port, replicas=NODES - 1) or missing_at_sentinels(
            self.sentinels, PRIMARY_NAME, (LOOPBACK, port), replicas=NODES - 1
        )

    def version(self) -> str:
        """From INFO."""
        return read_version(LOOPBACK, self.primary_port())

    def remove_data(self) -> None:
        """Remove the files of the killed nodes: started again, they hold no key."""
        for port in self.node_ports:
            shutil.rmtree(self._data(port))

    def node(self, port: int) -> ChildProcess:
        """The process of the node on that port."""
        return self._nodes[port]

    def spawn_node(self, port: int, *, replica_of: int | None) -> None:
        """Start one node on its data, as primary or as a replica of the node on another port; does not wait."""
        program = binaries.require(self.name, "redis-server")
        directory = self._data(port)
        directory.mkdir(exist_ok=True)
        argv = [str(program), "--port", str(port), "--dir", str(directory), *NODE_ARGUMENTS]
        if replica_of is not None:
            argv += ["--replicaof", LOOPBACK, str(replica_of)]
        log = self.directory / f"node-{port}.log"
        self._nodes[port] = self._warden.spawn(f"redis node {port}", argv, log=log, cwd=directory)

    def _data(self, port: int) -> Path:
        return self.directory / f"node-{port}"

    def _prepare(self, deadline: Deadline) -> None:
        binaries.require(self.name, "redis-server")

    def _spawn(self) -> None:
        if set(self._nodes) - set(self.ports):  # after a failed start on other ports
            self._nodes.clear()
            self._sentinels.clear()
        primary = self.primary_port()
        self.spawn_node(primary, replica_of=None)
        for port in self.node_ports:
            if port != primary:
                self.spawn_node(port, replica_of=primary)
        if not self._sentinels:
            self._spawn_sentinels(primary)

    def _spawn_sentinels(self, primary: int) -> None:
        """The configurations name the replica and the other Sentinels, as after a restart; else discovery would take seconds."""
        program = binaries.require(self.name, "redis-server")
        ids = {port: secrets.token_hex(20) for _, port in self.sentinels}
        for _, port in self.sentinels:
            lines = [
                f"port {port}",
                f"bind {LOOPBACK}",
                f"dir {self.directory}",
                f"sentinel myid {ids[port]}",
                f"sentinel monitor {PRIMARY_NAME} {LOOPBACK} {primary} {QUORUM}",
                f"sentinel down-after-milliseconds {PRIMARY_NAME} {DOWN_AFTER_MS}",
                f"sentinel failover-timeout {PRIMARY_NAME} {FAILOVER_TIMEOUT_MS}",
                *(
                    f"sentinel known-replica {PRIMARY_NAME} {LOOPBACK} {node}"
                    for node in self.node_ports
                    if node != primary
                ),
                *(
                    f"sentinel known-sentinel {PRIMARY_NAME} {LOOPBACK} {other} {ids[other]}"
                    for _, other in self.sentinels
                    if other != port
                ),
            ]
            config = self.directory / f"sentinel-{port}.conf"
            config.write_text("\n".join(lines) + "\n")
            log = self.directory / f"sentinel-{port}.log"
            argv = [str(program), str(config), "--sentinel"]
            self._sentinels[port] = self._warden.spawn(f"redis sentinel {port}", argv, log=log, cwd=self.directory)
