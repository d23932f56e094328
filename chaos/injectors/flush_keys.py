"""FLUSHALL of a Redis of the lab's own."""

import time

from redis import RedisError

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal
from chaos.faults import FlushKeys
from chaos.injection import Evidence
from chaos.injectors.injector import Capability, InjectionContext, Injector
from chaos.services.redis import keys
from chaos.services.redis.server import missing_write, present_primary

KEYS_WITHIN_S = 5.0
"""How long the system may take until it has a key to lose."""


class KeysFlush:
    """Every key is removed at once; proven by the number of keys in the same transaction."""

    target: str = "redis"

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._flushed = 0
        self._at_ns = 0

    def begin(self) -> None:
        """Remove all keys, as soon as there are any."""
        if problem := wait(lambda: missing_keys(*self._address), Deadline.after(KEYS_WITHIN_S)):
            raise FaultDidNotBite(FlushKeys.name, self.target, problem)
        try:
            self._flushed = keys.flush(*self._address)
        except RedisError as error:
            raise FaultDidNotBite(FlushKeys.name, self.target, f"FLUSHALL failed: {error}") from error
        self._at_ns = time.monotonic_ns()

    def await_bite(self, timeout_s: float) -> Evidence:
        """The number of keys that there were."""
        if not self._flushed:
            raise FaultDidNotBite(FlushKeys.name, self.target, "it held no key when it was flushed")
        return Evidence(f"FLUSHALL removed {self._flushed} keys", at_ns=self._at_ns)

    def end(self) -> None:
        """Nothing is given back."""

    def await_healed(self, timeout_s: float) -> None:
        """Wait for a write that can be read back."""
        if problem := wait(lambda: missing_write(*self._address), Deadline.after(timeout_s)):
            raise FaultDidNotHeal(FlushKeys.name, self.target, problem)


def missing_keys(host: str, port: int) -> str:
    """Why there is nothing to lose; "" if the system has keys."""
    try:
        return "" if keys.count_keys(host, port) else "it holds no key of the system"
    except RedisError as error:
        return f"its keys cannot be counted: {error}"


def inject(fault: FlushKeys, context: InjectionContext) -> KeysFlush:
    """The injection of one such fault."""
    assert context.services.redis is not None, "the environment offers the service that is struck"
    return KeysFlush(present_primary(context.services.redis))


INJECTOR = Injector(inject, needs=frozenset({Capability.OWN_SERVICES}))
