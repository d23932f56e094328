"""Procrastinate as a system under test: workers by its own command, and clients that defer jobs as the app does.

Runs in the client process, in the user's Python, from 3.8 on.
"""

import sys
from pathlib import Path
from typing import Any, Dict, List

import psycopg
import tasklab_adapter
import tasklab_body
from procrastinate.exceptions import AlreadyEnqueued
from tasklab_adapter import Choice
from tasklab_plugin import Account, Outcome, Pace, Policy, ProcessSpec, ReadStatus, Submit
from tasklab_procrastinate_app import COMMAND, ProcrastinateApp
from tasklab_procrastinate_libpq import connected

CLAIMS = ("no_lost_task", "no_stuck_task", "no_phantom_task", "duplicates_explained")
APP = "tasklab_procrastinate_app.app"
IDLE_S = 4.0
"""Longest rest of a worker that has work, without polling, retries and leases."""
BUDGET_S = 30.0
TOLERANCE_S = 2.0
STALLED = (
    'if a worker is killed, and no task of the app retries stalled jobs, its jobs "will remain in the queue forever": '
    "https://procrastinate.readthedocs.io/en/stable/howto/production/retry_stalled_jobs.html"
)
STATES = {
    "todo": "ACCEPTED",
    "doing": "RUNNING",
    "succeeded": "SUCCEEDED",
    "failed": "DEAD",
    "cancelled": "CANCELLED",
    "aborted": "CANCELLED",
}
"""The lab's state by the status of a job."""


class Procrastinate:
    """A task of an app of Procrastinate, as it is configured."""

    name = "procrastinate"

    def __init__(self, app: ProcrastinateApp) -> None:
        self._app = app
        choice = app.choice
        self.needs = {"postgresql"}
        keeps = app.delete_jobs == "never"
        self.claims = set(choice.claims or (*CLAIMS, *(["outcome_reported"] if keeps else [])))
        self.capabilities = {"submit", "due", *(["status"] if keeps else [])}
        self.capabilities |= tasklab_body.capabilities(app.own, keeps_results=False)
        delays_s = app.delays_s()
        longest_s = max((most for _, most in delays_s or ()), default=0.0)
        takeover_s = app.takeover_s()
        self.pace = Pace(quiet_s=IDLE_S + app.polling_s + longest_s + takeover_s, lease_s=app.lease_s())
        self.policy = Policy(
            attempts_max=app.attempts_max(),
            delays_s=delays_s,
            permanent_errors=(),
            tolerance_s=app.polling_s + TOLERANCE_S,
            budget_s=BUDGET_S + 2 * takeover_s + sum(most for _, most in delays_s or ()),
        )
        self.facts = app.facts()
        self.documented_deaths = {} if app.recoveries else {"no_lost_task": STALLED, "no_stuck_task": STALLED}
        self.capabilities |= set() if app.recoveries else {"no_takeover"}
        self.versions = tasklab_adapter.versions("procrastinate", "psycopg", "psycopg-pool")

    def processes(self, services: Any, handlers: Any) -> List[ProcessSpec]:
        """The schema, applied once, and workers: all by the command `procrastinate`."""
        schema = self._command(services, handlers, "schema", "setup", ["schema", "--apply"], runs_once=True)
        workers = [
            self._command(services, handlers, name, "worker", ["worker", *self._app.choice.worker_arguments])
            for name in tasklab_adapter.worker_names(self._app.choice)
        ]
        return [schema, *workers]

    def client(self, services: Any) -> "ProcrastinateClient":
        """A client that defers by the task itself."""
        self._app.turn_client(tasklab_adapter.addresses(services))
        return ProcrastinateClient(self._app)

    def dump(self, services: Any) -> Dict[str, str]:
        """The status of each job that has not ended, and its worker."""
        return {
            job.task_kwargs["payload"]["task"]: "the table procrastinate_jobs, status %s, worker %s"
            % (job.status, job.worker_id)
            for job in self._jobs(services)
            if job.status in ("todo", "doing")
        }

    def _jobs(self, services: Any) -> List[Any]:
        self._app.turn_client(tasklab_adapter.addresses(services))
        return list(self._app.app.job_manager.list_jobs(task=self._app.task.name))

    def _command(
        self, services: Any, handlers: Any, name: str, role: str, arguments: List[str], runs_once: bool = False
    ) -> ProcessSpec:
        addresses = tasklab_adapter.addresses(services.as_seen_by(name))
        environment = tasklab_adapter.environment_for(self._app.choice, addresses, handlers.environment_of(name))
        argv = [sys.executable, "-c", COMMAND, "--app", APP, *arguments]
        return ProcessSpec(name, role, argv, environment, Path.cwd(), runs_once)


class ListingProcrastinate(Procrastinate):
    """A task whose ended jobs are kept, so that all jobs can be listed."""

    def account(self, services: Any) -> Account:
        """Every job of the task, by its status."""
        lists: Dict[str, List[str]] = {"SUCCEEDED": [], "DEAD": [], "CANCELLED": [], "": []}
        for job in self._jobs(services):
            state = STATES[job.status]
            lists[state if state in lists else ""].append(job.task_kwargs["payload"]["task"])
        return Account(
            done=tuple(lists["SUCCEEDED"]),
            dead=tuple(lists["DEAD"]),
            cancelled=tuple(lists["CANCELLED"]),
            expired=None,
            pending=tuple(lists[""]),
        )


class ProcrastinateClient:
    """Defers jobs on a connection of its own, and reads them where they are kept. One thread.

    The app's pool would wait until a server that was killed is back, and no request would ever meet the outage.
    """

    def __init__(self, app: ProcrastinateApp) -> None:
        self._app = app
        self._connection: Any = None

    def invoke(self, operation: Any) -> Outcome:
        """Defer a job, or read the status of one."""
        if isinstance(operation, Submit):
            return self._defer(operation)
        if isinstance(operation, ReadStatus):
            try:
                return self._read(operation)
            except Exception as error:  # noqa: BLE001 — whatever the app's connector raises
                return Outcome("info", detail=repr(error))
        return Outcome("fail", detail="the adapter of Procrastinate has no " + type(operation).__name__)

    def _defer(self, submit: Submit) -> Outcome:
        if self._connection is None or self._connection.closed:
            try:
                self._connection = connected(self._app.connector)
            except psycopg.Error as error:  # nothing was sent
                return Outcome("fail", detail=repr(error))
        options: Dict[str, Any] = {} if submit.due_s is None else {"schedule_in": {"seconds": submit.due_s}}
        try:
            deferred = self._app.task.configure(connection=self._connection, **options)
            return Outcome("ok", id=str(deferred.defer(payload=tasklab_body.sent(self._app.own, submit.payload))))
        except AlreadyEnqueued as error:  # its queueing lock: there is a job like this, and no second one was made
            return Outcome("fail", detail=repr(error))
        except Exception as error:  # noqa: BLE001 — whatever the app's connector raises: the job may be in the table
            self.close()
            return Outcome("info", detail=repr(error))

    def _read(self, read: ReadStatus) -> Outcome:
        found = self._app.app.job_manager.list_jobs(id=int(read.id))
        if not found:
            return Outcome("ok", state="MISSING")
        (job,) = found
        return Outcome("ok", state="RETRYING" if job.status == "todo" and job.attempts else STATES[job.status])

    def close(self) -> None:
        """Close the connection of this thread."""
        if self._connection is not None:
            self._connection.close()


def adapted(**stated: Any) -> Any:
    """The system of a `Choice` with these fields. Raises UnusableApp."""
    return tasklab_adapter.read_by_adapter("procrastinate", Choice(**stated), _adapted)


def _adapted(choice: Choice) -> Procrastinate:
    app = ProcrastinateApp(choice)
    return ListingProcrastinate(app) if app.delete_jobs == "never" else Procrastinate(app)
