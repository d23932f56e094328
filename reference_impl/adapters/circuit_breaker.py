"""A circuit breaker for the cache: after a failure, calls fail at once; from time to time one call tries the cache again.

Without it every submission and progress report would wait for a time-out, although both can do without the cache.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from reference_impl.errors import CacheUnavailable

OPEN_S = 0.2
"""How long the circuit stays open after a failure, before one call tries the cache again."""


class CircuitBreaker:
    """Guards a cache; `failures` are the exceptions that mean that the cache is down."""

    def __init__(self, *failures: type[Exception], monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._failures = failures
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._failed = False
        self._is_probing = False
        self._next_try_s = 0.0

    def call(self, command: Callable[[], Any]) -> Any:
        """Run the command and return its result.

        Raises:
            CacheUnavailable: the command failed; or it was not sent, because the circuit is open.
        """
        self._admit()
        try:
            answer = command()
        except self._failures as error:
            self._record(failed=True)
            raise CacheUnavailable(str(error)[:200]) from error
        except BaseException:
            self._record(failed=False)
            raise
        self._record(failed=False)
        return answer

    def _admit(self) -> None:
        with self._lock:
            if self._failed:
                if self._is_probing or self._monotonic_s() < self._next_try_s:
                    raise CacheUnavailable("the circuit is open after a failure")
                self._is_probing = True

    def _record(self, *, failed: bool) -> None:
        with self._lock:
            self._failed = failed
            self._is_probing = False
            self._next_try_s = self._monotonic_s() + OPEN_S
