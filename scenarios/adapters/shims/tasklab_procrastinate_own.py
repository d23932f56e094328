"""The lab's own apps of Procrastinate: as its documentation recommends it for work that must not be lost, and as it comes."""

from procrastinate import App, PsycopgConnector, RetryStrategy

CONNINFO = "postgresql://localhost/app"

recommended = App(connector=PsycopgConnector(conninfo=CONNINFO))
"""Failures are retried, and the jobs of workers that were killed, by the task of its page "Retry stalled jobs"."""

defaults = App(connector=PsycopgConnector(conninfo=CONNINFO))
"""Whatever Procrastinate does if nothing is stated."""


@recommended.task(name="recommended.charge", retry=RetryStrategy(max_attempts=3, wait=1))  # type: ignore[untyped-decorator, unused-ignore]
def charge(payload: object) -> None:
    """A task that is tried again when it fails."""
    raise NotImplementedError("the lab replaces it")  # this body never runs


@recommended.periodic(cron="*/10 * * * *")  # type: ignore[untyped-decorator, unused-ignore]
@recommended.task(name="recommended.retry_stalled_jobs", queueing_lock="retry_stalled_jobs", pass_context=True)  # type: ignore[untyped-decorator, unused-ignore]
async def retry_stalled_jobs(context: object, timestamp: int) -> None:
    """Retries the jobs of workers whose heartbeat has stopped."""
    for job in await recommended.job_manager.get_stalled_jobs():
        await recommended.job_manager.retry_job(job)


@defaults.task(name="defaults.charge")  # type: ignore[untyped-decorator, unused-ignore]
def charge_once(payload: object) -> None:
    """A task without retries."""
    raise NotImplementedError("the lab replaces it")  # this body never runs
