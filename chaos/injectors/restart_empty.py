"""kill -9 of a Redis of the lab's own, and its start without files."""

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite
from chaos.faults import RestartEmpty
from chaos.injection import Evidence
from chaos.injectors.flush_keys import KEYS_WITHIN_S, missing_keys
from chaos.injectors.injector import Capability, InjectionContext, Injector
from chaos.injectors.kill_service import ServiceKill
from chaos.services.redis.keys import count_keys
from chaos.services.redis.plain import PlainRedisServer
from chaos.services.redis.server import RedisServer, present_primary


class EmptyRestart(ServiceKill):
    """As `ServiceKill`, without its files: no key is left."""

    fault = RestartEmpty.name

    def __init__(self, server: PlainRedisServer | RedisServer, address: tuple[str, int]) -> None:
        super().__init__(server)
        self._server = server
        self._address = address
        self._keys = 0

    def begin(self) -> None:
        """Kill it, as soon as it holds keys."""
        if problem := wait(lambda: missing_keys(*self._address), Deadline.after(KEYS_WITHIN_S)):
            raise FaultDidNotBite(self.fault, self.target, problem)
        self._keys = count_keys(*self._address)
        super().begin()

    def await_bite(self, timeout_s: float) -> Evidence:
        """Check that it is gone, and remove its files."""
        killed = super().await_bite(timeout_s)
        self._server.remove_data()
        return Evidence(f"{killed.words}; its files are removed, it held {self._keys} keys")


def inject(fault: RestartEmpty, context: InjectionContext) -> EmptyRestart:
    """The injection of one such fault."""
    server = context.own_services["redis"]
    assert isinstance(server, PlainRedisServer | RedisServer), "an environment with files of its own runs these servers"
    assert context.services.redis is not None, "the environment offers the service that is struck"
    return EmptyRestart(server, present_primary(context.services.redis))


INJECTOR = Injector(inject, needs=frozenset({Capability.OWN_SERVICES, Capability.DATA_FILES}))
