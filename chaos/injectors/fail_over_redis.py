"""A Redis failover: the primary dies, and the Sentinels make its replica the primary."""

import time

from redis import RedisError

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal, ServiceUnavailable
from chaos.faults import FailOverRedis
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector
from chaos.ports import LOOPBACK, is_refused
from chaos.services.redis import replication
from chaos.services.redis.server import PRIMARY_NAME, RedisServer, ask_primary, missing_write
from chaos.services.server import KILL_TIMEOUT_S


class RedisFailover:
    """kill -9 of the primary; heals by starting it again as a replica of the new primary.

    (Started as a primary again, it would accept writes of stale clients for about ten seconds, until the Sentinels demote it.)
    """

    target: str = "redis"

    def __init__(self, server: RedisServer, behind_s: float) -> None:
        self._server = server
        self._behind_s = behind_s
        self._lost_bytes = 0
        self._old = 0
        self._begun_s = 0.0
        self._ended = False

    def begin(self) -> None:
        """Kill the primary; if the replica is to be behind, let it miss writes before.

        Raises:
            FaultDidNotBite: no write was made meanwhile, so that it has missed none.
        """
        self._old = self._server.primary_port()
        if self._behind_s:
            self._leave_behind(*(port for port in self._server.node_ports if port != self._old))
        self._begun_s = time.monotonic()
        self._server.node(self._old).kill_tree(KILL_TIMEOUT_S)

    def await_bite(self, timeout_s: float) -> Evidence:
        """Check that the old primary is dead, a majority of Sentinels names another one, and that one accepts a write."""
        if problem := wait(self._missing_bite, Deadline.after(timeout_s)):
            raise FaultDidNotBite(FailOverRedis.name, self.target, problem)
        took_s = time.monotonic() - self._begun_s
        now = self._server.primary_port()
        lost = f", without the last {self._lost_bytes} bytes of the old one's writes" if self._behind_s else ""
        return Evidence(
            f"primary {LOOPBACK}:{self._old} killed; after {took_s:.1f} s {LOOPBACK}:{now} accepts writes{lost}"
        )

    def end(self) -> None:
        """Start the old primary again, as a replica; or as the primary, if no other node has taken over."""
        if self._old and not self._ended:
            self._ended = True
            primary = self._server.primary_port()
            if self._behind_s:
                replication.admit(primary)
            if not is_refused(LOOPBACK, self._old):
                return  # it was not killed: nothing was written while the replica missed writes
            self._server.spawn_node(self._old, replica_of=None if primary == self._old else primary)

    def await_healed(self, timeout_s: float) -> None:
        """Wait until the old primary replicates the new one and every Sentinel is ready for another failover."""
        try:
            self._server.await_ready(Deadline.after(timeout_s))
        except ServiceUnavailable as error:
            raise FaultDidNotHeal(FailOverRedis.name, self.target, str(error)) from error

    def _leave_behind(self, replica: int) -> None:
        try:
            replication.shut_out(replica)
            wait(lambda: "it misses writes", Deadline.after(self._behind_s))  # for the whole time
            self._lost_bytes = replication.bytes_behind(self._old, replica)
        except RedisError as error:
            raise FaultDidNotBite(
                FailOverRedis.name, self.target, f"its replica cannot be shut out: {error}"
            ) from error
        if not self._lost_bytes:
            why = f"nothing was written in {self._behind_s:g} s, so its replica has missed nothing"
            raise FaultDidNotBite(FailOverRedis.name, self.target, why)

    def _missing_bite(self) -> str:
        if not is_refused(LOOPBACK, self._old):
            return f"the old primary at port {self._old} still accepts connections"
        primary = ask_primary(self._server.sentinels, PRIMARY_NAME)
        if primary is None:
            return "the Sentinels do not agree on a primary"
        if primary[1] == self._old:
            return f"the Sentinels still name the old primary at port {self._old}"
        return missing_write(*primary)


def inject(fault: FailOverRedis, context: InjectionContext) -> RedisFailover:
    """The injection of one such fault."""
    server = context.own_services["redis"]
    assert isinstance(server, RedisServer), "an environment with Sentinels runs this kind of server"
    return RedisFailover(server, fault.behind_s)


INJECTOR = Injector(inject, needs=frozenset({Capability.OWN_SERVICES, Capability.SENTINELS}))
