"""RQ as a system under test: workers by its own command, and clients that enqueue as the app does.

Runs in the client process, in the user's Python, from 3.8 on.
"""

import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Tuple

import rq.utils
import tasklab_adapter
import tasklab_body
from rq import SimpleWorker
from rq.exceptions import NoSuchJobError
from tasklab_adapter import Choice
from tasklab_plugin import Account, Outcome, Pace, Policy, ProcessSpec, ReadStatus, Submit
from tasklab_rq_app import WORKER_COMMAND, RqApp

CLAIMS = ("no_lost_task", "no_stuck_task", "no_phantom_task", "duplicates_explained")
BUSY_S = 6.0
"""Longest time without progress while workers are at work: each job is a fork of its own."""
BUDGET_S = 30.0
TOLERANCE_S = 3.0
"""How late a scheduled job starts: its scheduler looks once a second, and a worker forks."""
UNSCHEDULED = (
    "retries with an interval need a scheduler, rq worker --with-scheduler: https://python-rq.org/docs/exceptions/"
)
RUN_S = 120.0
"""How long a run lasts before its budget begins, at most."""
STATES = {
    "queued": "ACCEPTED",
    "deferred": "ACCEPTED",
    "ready_to_enqueue": "ACCEPTED",
    "scheduled": "RETRYING",
    "started": "RUNNING",
    "finished": "SUCCEEDED",
    "failed": "DEAD",
    "stopped": "DEAD",
    "canceled": "CANCELLED",
}
"""The lab's state by the status of a job. A job that failed and has retries left is queued or scheduled."""


class Rq:
    """A function of RQ, as it is decorated or with RQ's defaults."""

    name = "rq"

    def __init__(self, app: RqApp) -> None:
        self._app = app
        choice = app.choice
        self.needs = {"redis"}
        self.budget_s = BUDGET_S + 2 * app.takeover_s() + sum(most for _, most in app.delays_s())
        keeps = self.keeps_ended
        self.claims = set(choice.claims or (*CLAIMS, *(["outcome_reported"] if keeps else [])))
        self.capabilities = {
            "submit",
            *(["status"] if keeps else []),
            *(["due"] if app.has_scheduler else []),
            *(["no_takeover"] if app.retry is None else []),  # an abandoned job without retries has failed
            *tasklab_body.capabilities(app.own, keeps),
            *([] if issubclass(app.worker_class, SimpleWorker) else ["pool"]),
        }
        longest_s = max((most for _, most in app.delays_s()), default=0.0)
        self.pace = Pace(quiet_s=BUSY_S + longest_s + app.takeover_s(), lease_s=app.lease_s())
        self.policy = Policy(
            attempts_max=app.attempts_max(),
            delays_s=app.delays_s(),
            permanent_errors=(),
            tolerance_s=TOLERANCE_S if app.has_scheduler else None,
            budget_s=self.budget_s,
            result_ttl_s=float(app.result_ttl_s) if app.result_ttl_s > 0 else None,
        )
        self.facts = app.facts()
        waits = any(app.intervals_now) and not app.has_scheduler
        self.documented = {"no_stuck_task": UNSCHEDULED, "no_lost_task": UNSCHEDULED} if waits else {}
        self.versions = tasklab_adapter.versions("rq", "redis")

    @property
    def keeps_ended(self) -> bool:
        """Whether ended jobs are kept for longer than a run lasts, so that they can be listed and read."""
        kept = (self._app.result_ttl_s, self._app.failure_ttl_s)
        return all(ttl_s < 0 or ttl_s >= self.budget_s + RUN_S for ttl_s in kept)

    def processes(self, services: Any, handlers: Any) -> List[ProcessSpec]:
        """Workers by the command `rq worker`."""
        return [
            ProcessSpec(
                name, "worker", self._argv(services, name), self._environment(services, handlers, name), Path.cwd()
            )
            for name in tasklab_adapter.worker_names(self._app.choice)
        ]

    def client(self, services: Any) -> "RqClient":
        """A client that enqueues by the function's own decorator."""
        addresses = tasklab_adapter.addresses(services)
        self._app.turn(addresses)
        return RqClient(self._app, tasklab_adapter.ClientBroker(addresses["redis"]))

    def dump(self, services: Any) -> Dict[str, str]:
        """The list or registry in which a job lies that has not ended."""
        self._app.turn(tasklab_adapter.addresses(services))
        jobs = Jobs(self._app)
        return {
            task: place for task, state, place in jobs.read() if state in ("queued", "scheduled", "started", "deferred")
        }

    def _argv(self, services: Any, name: str) -> List[str]:
        address = services.as_seen_by(name).redis
        url = "redis://%s:%d/0" % (address.host, address.port)
        return [sys.executable, "-c", WORKER_COMMAND, "worker", *self._app.worker_arguments(), "--url", url]

    def _environment(self, services: Any, handlers: Any, name: str) -> Any:
        addresses = tasklab_adapter.addresses(services.as_seen_by(name))
        return tasklab_adapter.environment_for(self._app.choice, addresses, handlers.environment_of(name))


class ListingRq(Rq):
    """A function of RQ whose ended jobs are kept, so that all jobs can be listed."""

    def __init__(self, app: RqApp) -> None:
        super().__init__(app)
        self._jobs = Jobs(app)

    def account(self, services: Any) -> Account:
        """Every job of the queue and its registries, by its status."""
        self._app.turn(tasklab_adapter.addresses(services))
        lists: Dict[str, List[str]] = {"SUCCEEDED": [], "DEAD": [], "CANCELLED": [], "": []}
        for task, status, _ in self._jobs.read():
            state = STATES[status]
            lists[state if state in lists else ""].append(task)
        return Account(
            done=tuple(lists["SUCCEEDED"]),
            dead=tuple(lists["DEAD"]),
            cancelled=tuple(lists["CANCELLED"]),
            expired=None,
            pending=tuple(lists[""]),
        )


class ForgettingRq(Rq):
    """A function of RQ whose finished jobs are soon forgotten: only those that failed can be listed."""

    def trail(self, services: Any) -> List[Dict[str, Any]]:
        """A dead letter for each failed job, at the time of its last result."""
        self._app.turn(tasklab_adapter.addresses(services))
        queue = self._app.queue
        failed = queue.failed_job_registry.get_job_ids(cleanup=False)
        fetched = queue.job_class.fetch_many(failed, connection=queue.connection, serializer=queue.serializer)
        return [self._dead_letter(job) for job in fetched if job is not None]

    def _dead_letter(self, job: Any) -> Dict[str, Any]:
        last = job.latest_result()
        since_epoch_s = (job.enqueued_at if last is None else last.created_at).timestamp()
        return {
            "t_ns": int(since_epoch_s * 1e9),
            "actor": "rq",
            "event": "dead",
            "task": job.args[0]["task"],
            "attempts": self._app.attempts_max() - (job.retries_left or 0),
            "reason": "" if last is None else (last.exc_string or "").strip().split("\n")[-1],
        }


class Jobs:
    """Reads the jobs of a queue without changing anything: the registries' own methods clean up first."""

    def __init__(self, app: RqApp) -> None:
        self._app = app
        self._tasks: Dict[str, str] = {}

    def read(self) -> Iterator[Tuple[str, str, str]]:
        """Of each job in any list: the lab's name of its task, its status, and the list."""
        places = self._places()
        self._learn(places)
        known = [job for job in places if job in self._tasks]
        with self._app.queue.connection.pipeline(transaction=False) as pipeline:
            for job in known:
                pipeline.hget(self._app.queue.job_class.key_for(job), "status")
            statuses = pipeline.execute()
        for job, status in zip(known, statuses):  # noqa: B905  Python 3.8
            if status is not None:  # else its time to live is over
                yield self._tasks[job], rq.utils.as_text(status), places[job]

    def _places(self) -> Mapping[str, str]:
        """The list of each job, all read at one time."""
        queue = self._app.queue
        lists = [queue.key, queue.key + ":intermediate"]
        registries = [getattr(queue, name) for name in dir(type(queue)) if name.endswith("_job_registry")]
        with queue.connection.pipeline(transaction=True) as pipeline:
            for key in lists:
                pipeline.lrange(key, 0, -1)
            for registry in registries:
                pipeline.zrange(registry.key, 0, -1)
            found = pipeline.execute()
        places: Dict[str, str] = {}
        for key, entries in zip([*lists, *(registry.key for registry in registries)], found):  # noqa: B905  Python 3.8
            for entry in entries:  # of a registry of executions: JOB:EXECUTION
                places.setdefault(rq.utils.as_text(entry).partition(":")[0], "the list " + key)
        return places

    def _learn(self, jobs: Mapping[str, str]) -> None:
        queue = self._app.queue
        unknown = [job for job in jobs if job not in self._tasks]
        fetched = (
            queue.job_class.fetch_many(unknown, connection=queue.connection, serializer=queue.serializer)
            if unknown
            else []
        )
        self._tasks.update({job.id: job.args[0]["task"] for job in fetched if job is not None})


class RqClient:
    """Enqueues jobs, and reads them where they are kept. One thread."""

    def __init__(self, app: RqApp, broker: tasklab_adapter.ClientBroker) -> None:
        self._app = app
        self._broker = broker

    def invoke(self, operation: Any) -> Outcome:
        """Enqueue a job, or read the status of one."""
        try:
            if isinstance(operation, Submit):
                return self._send(operation)
            if isinstance(operation, ReadStatus):
                return self._read(operation)
        except Exception as error:  # noqa: BLE001 — whatever the app's own classes and its client of Redis raise
            self._broker.has_failed = True
            return Outcome("info", detail=repr(error))
        return Outcome("fail", detail="RQ has no " + type(operation).__name__)

    def _send(self, submit: Submit) -> Outcome:
        if self._broker.refuses():
            return Outcome("fail", detail="the broker accepts no connection")
        payload = tasklab_body.sent(self._app.own, submit.payload)
        job = self._app.enqueue(payload) if submit.due_s is None else self._app.enqueue_in(submit.due_s, payload)
        return Outcome("ok", id=job.id)

    def _read(self, read: ReadStatus) -> Outcome:
        queue = self._app.queue
        try:
            job = queue.job_class.fetch(read.id, connection=queue.connection, serializer=queue.serializer)
        except NoSuchJobError:
            return Outcome("ok", state="MISSING")
        state = STATES[job.get_status(refresh=False)]
        if state == "RETRYING" and job.started_at is None:
            state = "ACCEPTED"  # it waits for its time
        returned = job.return_value() if state == "SUCCEEDED" and self._app.own is None else None
        return Outcome("ok", state=state, result=(returned or {}).get("result"))

    def close(self) -> None:
        """Nothing: the connections belong to the app's own pool."""


def adapted(**stated: Any) -> Any:
    """The system of a `Choice` with these fields. Raises UnusableApp."""
    return tasklab_adapter.read_by_adapter("rq", Choice(**stated), _adapted)


def _adapted(choice: Choice) -> Rq:
    app = RqApp(choice)
    return ListingRq(app) if Rq(app).keeps_ended else ForgettingRq(app)
