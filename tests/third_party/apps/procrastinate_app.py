"""An app of Procrastinate as its owner wrote it: no word about the lab. Its PostgreSQL is at PROCRASTINATE_APP_PORT of this machine."""

import os

import procrastinate

port = os.environ.get("PROCRASTINATE_APP_PORT", "5432")
app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(
        conninfo=f"postgresql://shop@127.0.0.1:{port}/shop?sslmode=require",
        kwargs={"password": "hunter2", "application_name": "shop"},
    ),
    worker_defaults={"update_heartbeat_interval": 5},
)
silent = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=f"host=127.0.0.1 port={port}"))


class PaymentError(Exception):
    def __init__(self, order, reason="declined"):
        super().__init__(f"{order}: {reason}")


@app.task(
    name="charge",
    queue="payments",
    retry=procrastinate.RetryStrategy(max_attempts=2, wait=60, retry_exceptions=[PaymentError]),
)
async def charge(order):
    raise SystemExit("production code ran")


@app.task(name="mail")
def mail(order):
    raise SystemExit("production code ran")


@app.periodic(cron="*/10 * * * *")
@app.task(queueing_lock="retry_stalled_jobs", pass_context=True)
async def retry_stalled_jobs(context, timestamp):
    for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=40):
        await app.job_manager.retry_job(job)
