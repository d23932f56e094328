"""How a task of Celery is retried: read from the task as it is installed, and imitated by the lab's handler. From Python 3.8 on."""

import inspect
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

from celery.app.autoretry import add_autoretry_behaviour
from celery.exceptions import Retry
from celery.utils.time import get_exponential_backoff_interval
from tasklab_adapter import LONG_S

SCALED_DELAY_S = 1
TIMER_S = 1.0
"""How late a worker may look at its timers (`worker_timer_precision`)."""
DELAYS_MAX = 50


class LabFailure(Exception):
    """The task failed as the lab had planned. Client and workers know the class, so that a stored one can be read."""


class CeleryRetries:
    """The retries of one task. `by`: `autoretry_for`, `self.retry` (its body calls a `retry`), or empty: it is never retried."""

    def __init__(self, task: Any) -> None:
        self._task = task
        self.by = "autoretry_for" if hasattr(task, "_orig_run") else "self.retry" if _calls_retry(task.run) else ""

    @property
    def automatic(self) -> Mapping[str, Any]:
        """The settings of the automatic retry, as the task's wrapper holds them; empty without one."""
        return dict(inspect.getclosurevars(self._task.run).nonlocals) if self.by == "autoretry_for" else {}

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What the automatic retry passes to each `retry`."""
        return self.automatic.get("retry_kwargs") or {}

    def retries_max(self) -> Optional[int]:
        """How often a task that always fails is retried; None: without end."""
        if not self.by:
            return 0
        stated = self.arguments.get("max_retries")
        most = self._task.max_retries if stated is None else stated
        return None if most is None else int(most)

    def countdowns_s(self) -> List[Tuple[float, float]]:
        """[least, most] seconds that Celery asks for before each retry; of retries without end before the first ones."""
        retries, automatic = self.retries_max(), self.automatic
        count = DELAYS_MAX if retries is None else min(retries, DELAYS_MAX)
        if not automatic.get("retry_backoff"):
            stated = self.arguments.get("countdown")
            fixed_s = float(self._task.default_retry_delay if stated is None else stated)
            return [(fixed_s, fixed_s)] * count
        factor, most_s = int(max(1.0, automatic["retry_backoff"])), automatic["retry_backoff_max"]
        waits_s = [float(get_exponential_backoff_interval(factor, number, most_s)) for number in range(count)]
        return [(0.0 if automatic["retry_jitter"] else wait_s, wait_s) for wait_s in waits_s]

    def longest_s(self) -> float:
        """The longest wait before a retry."""
        return max((most_s for _, most_s in self.countdowns_s()), default=0.0)

    def permanent_errors(self) -> Tuple[str, ...]:
        """The kinds of planned errors after which the task is not tried again, as `fail` raises them."""
        if self.by != "autoretry_for":
            return ("permanent",)
        is_retried = isinstance(LabFailure(""), self.automatic["autoretry_for"])
        return () if is_retried and not self.automatic.get("dont_autoretry_for", ()) else ("permanent",)

    def delays_s(self) -> Optional[List[Tuple[float, float]]]:
        """[least, most] seconds before each retry, with a worker's timer that is late; None: retries have no end."""
        if self.retries_max() is None:
            return None
        return [(least_s, most_s + TIMER_S) for least_s, most_s in self.countdowns_s()]

    def scale(self) -> Dict[str, Tuple[float, float]]:
        """Shorten the waits if one of them is long. Returns the settings that were changed, with their old and new value."""
        if self.longest_s() <= LONG_S:
            return {}
        automatic, arguments = self.automatic, self.arguments
        if automatic.get("retry_backoff"):
            self._install({"retry_backoff_max": SCALED_DELAY_S})
            return {"retry_backoff_max": (automatic["retry_backoff_max"], SCALED_DELAY_S)}
        if arguments.get("countdown") is not None:
            self._install({"retry_kwargs": {**arguments, "countdown": SCALED_DELAY_S}})
            return {"countdown": (arguments["countdown"], SCALED_DELAY_S)}
        stated_s, self._task.default_retry_delay = self._task.default_retry_delay, SCALED_DELAY_S
        return {"default_retry_delay": (stated_s, SCALED_DELAY_S)}

    @property
    def body(self) -> Any:
        """The function that is the task's code, without the automatic retry around it."""
        return self._task._orig_run if self.by == "autoretry_for" else self._task.run

    def is_final(self, error: BaseException) -> bool:
        """Whether a task that raised this is not run again, by the policy of the app."""
        if isinstance(error, Retry):
            return False
        if self.by != "autoretry_for":
            return True
        retried, given_up = (tuple(self.automatic.get(name, ())) for name in ("autoretry_for", "dont_autoretry_for"))
        return isinstance(error, given_up) or not isinstance(error, retried)

    def install_body(self, body: Any) -> None:
        """Put this function in the place of the task's body."""
        setattr(self._task, "_orig_run" if self.by == "autoretry_for" else "run", body)

    def fail(self, message: str, *, is_permanent: bool) -> None:
        """Raise what the app's own policy retries, or, if the failure is permanent, what it does not retry, if there is such."""
        failure: Exception = LabFailure(message)
        if self.by == "self.retry" and not is_permanent:
            raise self._task.retry(exc=failure)
        if self.by == "autoretry_for":
            retried, given_up = (self.automatic.get(name, ()) for name in ("autoretry_for", "dont_autoretry_for"))
            if is_permanent and isinstance(failure, retried) and given_up:
                failure = _made(given_up[0], message)
            if not is_permanent and not isinstance(failure, retried):
                failure = _made(retried[0], message)
        raise failure

    def _install(self, changes: Mapping[str, Any]) -> None:
        task, settings = self._task, {name: value for name, value in self.automatic.items() if name != "task"}
        task.run = task._orig_run
        del task._orig_run  # else Celery leaves the task as it is
        add_autoretry_behaviour(task, **{**settings, **changes})


def _calls_retry(body: Any) -> bool:
    code = getattr(inspect.unwrap(body), "__code__", None)
    return code is not None and "retry" in _names_in(code)


def _names_in(code: Any) -> Set[str]:
    nested = [constant for constant in code.co_consts if inspect.iscode(constant)]
    return set(code.co_names).union(*map(_names_in, nested))


def _made(kind: Any, message: str) -> Exception:
    try:
        made = kind(message)
    except Exception:  # noqa: BLE001 — the app's class wants other arguments, and may raise anything without them
        made = kind.__new__(kind, message)
    assert isinstance(made, Exception), "Celery catches exceptions only"
    return made
