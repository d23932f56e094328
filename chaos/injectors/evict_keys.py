"""A Redis of the lab's own with a full memory: it evicts keys of the system for ballast of the lab."""

import time

from redis import RedisError

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal
from chaos.faults import EvictKeys
from chaos.injection import Evidence
from chaos.injectors.flush_keys import KEYS_WITHIN_S, missing_keys
from chaos.injectors.injector import Capability, InjectionContext, Injector
from chaos.services.redis.keys import FullMemory
from chaos.services.redis.server import missing_write, present_primary

EVICTED_ENOUGH = 5
"""So many evicted keys of the system are enough for a bite."""
MORE_S = 0.3
"""How long more than one evicted key is waited for: a system may have few keys."""
FILL_S = 5.0
"""How long ballast is written at most."""
FILL_EVERY_S = 0.002


class KeysEviction:
    """A limit of memory, and ballast beyond it; proven by the server's count of evicted keys, less the ballast among them."""

    target: str = "redis"

    def __init__(self, memory: FullMemory) -> None:
        self._memory = memory
        self._first_s: float | None = None
        self._begun = False
        self._ended = False

    def begin(self) -> None:
        """Set the limit, as soon as there are keys."""
        if problem := wait(lambda: missing_keys(*self._memory.address), Deadline.after(KEYS_WITHIN_S)):
            raise FaultDidNotBite(EvictKeys.name, self.target, problem)
        self._begun = True
        try:
            self._memory.begin()
        except RedisError as error:
            raise FaultDidNotBite(EvictKeys.name, self.target, f"it takes no limit of memory: {error}") from error

    def await_bite(self, timeout_s: float) -> Evidence:
        """Write ballast until enough keys of the system are evicted; one is enough when no more follow soon."""
        try:
            wait(self._missing, Deadline.after(min(FILL_S, timeout_s)), every_s=FILL_EVERY_S)
            evicted = self._memory.evicted()
        except RedisError as error:
            raise FaultDidNotBite(EvictKeys.name, self.target, f"it takes no ballast: {error}") from error
        if not evicted:
            words = f"no key of the system was evicted by {self._memory.policy}"
            raise FaultDidNotBite(EvictKeys.name, self.target, words)
        return Evidence(f"{evicted} keys of the system evicted by {self._memory.policy}", at_ns=time.monotonic_ns())

    def end(self) -> None:
        """Remove ballast and limit."""
        if self._begun and not self._ended:
            self._ended = True
            try:
                self._memory.end()
            except RedisError as error:
                raise FaultDidNotHeal(EvictKeys.name, self.target, f"its limit cannot be removed: {error}") from error

    def await_healed(self, timeout_s: float) -> None:
        """Wait for a write that can be read back."""
        if problem := wait(lambda: missing_write(*self._memory.address), Deadline.after(timeout_s)):
            raise FaultDidNotHeal(EvictKeys.name, self.target, problem)

    def _missing(self) -> str:
        self._memory.fill()
        evicted = self._memory.evicted()
        if evicted and self._first_s is None:
            self._first_s = time.monotonic()
        is_enough = self._first_s is not None and time.monotonic() - self._first_s >= MORE_S
        return "" if evicted >= EVICTED_ENOUGH or is_enough else f"{evicted} keys of the system are evicted"


def inject(fault: EvictKeys, context: InjectionContext) -> KeysEviction:
    """The injection of one such fault."""
    assert context.services.redis is not None, "the environment offers the service that is struck"
    return KeysEviction(FullMemory(*present_primary(context.services.redis), fault.policy))


INJECTOR = Injector(inject, needs=frozenset({Capability.OWN_SERVICES}))
