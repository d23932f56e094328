"""Keeps callers from a cache that has just failed: one of them tries it again now and then, the others need not wait for it.

Else each submission and each report of progress would wait out a time-out, for something that they can do without.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from reference_impl.errors import CacheUnavailable

PAUSE_S = 0.2
"""How long a cache that failed is left alone before it is tried again."""


class Gate:
    """In front of a cache; `failures` are the errors by which it is known to be away."""

    def __init__(self, *failures: type[Exception], monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._failures = failures
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._failed = False
        self._is_tried = False
        self._next_try_s = 0.0

    def pass_(self, command: Callable[[], Any]) -> Any:
        """What the command returns.

        Raises:
            CacheUnavailable: it failed, or, not sent, an earlier one did a moment ago.
        """
        self._enter()
        try:
            answer = command()
        except self._failures as error:
            self._leave(failed=True)
            raise CacheUnavailable(str(error)[:200]) from error
        except BaseException:
            self._leave(failed=False)
            raise
        self._leave(failed=False)
        return answer

    def _enter(self) -> None:
        with self._lock:
            if self._failed:
                if self._is_tried or self._monotonic_s() < self._next_try_s:
                    raise CacheUnavailable("it failed a moment ago")
                self._is_tried = True

    def _leave(self, *, failed: bool) -> None:
        with self._lock:
            self._failed = failed
            self._is_tried = False
            self._next_try_s = self._monotonic_s() + PAUSE_S
