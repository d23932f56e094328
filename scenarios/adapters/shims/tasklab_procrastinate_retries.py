"""When Procrastinate runs a job again: after a failure, by its task's strategy; after the death of a worker, by a task of the app.

Besides the standard library and the other shims it imports Procrastinate and its libraries (attrs, croniter) only, from Python 3.8 on.
"""

import inspect
from datetime import datetime, timezone
from types import CodeType
from typing import Any, Iterator, List, Optional

import attr
from croniter import croniter
from procrastinate import BaseRetryStrategy
from procrastinate.jobs import Job
from procrastinate.manager import JobManager

ATTEMPTS_LOOKED_AT = 100
"""A strategy that gives up later than this counts as one without a limit."""
RECOVERY = "get_stalled_jobs"
LEASE = "seconds_since_heartbeat"
"""The method that an app has to call to find jobs of dead workers, and its argument: without a heartbeat for so long."""
SCALED_CRON = "* * * * * */2"
"""When a task that looks for them runs in the lab: every two seconds."""


class ScaledRetries(BaseRetryStrategy):  # type: ignore[misc]  # Procrastinate is not installed where types are checked
    """Another strategy, with all its waits multiplied."""

    def __init__(self, stated: Any, factor: float) -> None:
        self.stated = stated
        self.factor = factor

    def get_retry_decision(self, *, exception: BaseException, job: Any) -> Any:
        """What the other strategy says, at an earlier time."""
        retry = self.stated.get_retry_exception(exception=exception, job=job)
        if retry is None:
            return None
        decision, now = retry.retry_decision, datetime.now(timezone.utc)
        if decision.retry_at is not None:
            decision.retry_at = now + (decision.retry_at - now) * self.factor
        return decision


def waits_s(task: Any) -> Optional[List[float]]:
    """Seconds before each retry of a task that always fails, as its strategy answers; None: it never gives up."""
    if task.retry_strategy is None:
        return []
    error = raised(task, RuntimeError("planned"))
    waits: List[float] = []
    for attempts in range(ATTEMPTS_LOOKED_AT):
        job = Job(
            id=1,
            queue=task.queue,
            task_name=task.name,
            lock=None,
            queueing_lock=None,
            attempts=attempts,
        )
        asked = datetime.now(timezone.utc)
        retry = task.retry_strategy.get_retry_exception(exception=error, job=job)
        if retry is None:
            return waits
        due = retry.retry_decision.retry_at
        waits.append(0.0 if due is None else max(0.0, round((due - asked).total_seconds(), 2)))
    return None


def raised(task: Any, error: Exception) -> BaseException:
    """What the lab's handler raises for an error: one of the exceptions that the task's strategy retries, where it names any."""
    strategy = task.retry_strategy
    kinds = tuple(getattr(getattr(strategy, "stated", strategy), "retry_exceptions", None) or ())
    if not kinds or isinstance(error, kinds):
        return error
    try:
        made = kinds[0](str(error))
    except Exception:  # noqa: BLE001 — the app's class wants other arguments, and may raise anything without them
        made = kinds[0].__new__(kinds[0], str(error))
    assert isinstance(made, BaseException), "it can be raised"
    return made


def recoveries(app: Any) -> List[Any]:
    """The periodic tasks of the app whose code asks for stalled jobs."""
    found = app.periodic_registry.periodic_tasks.values()
    return [one for one in found if RECOVERY in _names(getattr(inspect.unwrap(one.task.func), "__code__", None))]


def _names(code: Optional[CodeType]) -> Iterator[str]:
    """All global names and attributes in a function and in those inside it; of a callable without code none."""
    if code is None:
        return
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _names(one)


def period_s(periodic: Any) -> float:
    """Seconds between two runs of a periodic task."""
    times = croniter(periodic.cron)
    return -float(times.get_next(float) - times.get_next(float))


def default_lease_s() -> float:
    """How long a worker's jobs are left to it without a heartbeat, if the app does not say."""
    return float(inspect.signature(JobManager.get_stalled_jobs).parameters[LEASE].default)


def scale_recoveries(app: Any, factor: float) -> None:
    """Let the app look for stalled jobs every two seconds, and multiply the lease that it states, or the default."""
    registry = app.periodic_registry.periodic_tasks
    for key, periodic in list(registry.items()):
        if any(periodic is one for one in recoveries(app)):
            registry[key] = attr.evolve(periodic, cron=SCALED_CRON)
    ask = app.job_manager.get_stalled_jobs
    signature = inspect.signature(ask)

    def get_stalled_jobs(*positional: Any, **named: Any) -> Any:
        bound = signature.bind(*positional, **named)
        bound.apply_defaults()
        bound.arguments[LEASE] *= factor
        return ask(*bound.args, **bound.kwargs)

    app.job_manager.get_stalled_jobs = get_stalled_jobs
