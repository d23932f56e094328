"""An app of Procrastinate in the lab: its connector is turned to the lab's PostgreSQL, and the body of one task replaced.

Imported by the client process, and by the library's own commands (`COMMAND`). Besides the standard library and the other shims it
imports Procrastinate only, from Python 3.8 on.
"""

import contextlib
import inspect
import io
import threading
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

import procrastinate
import tasklab_adapter
import tasklab_guard
import tasklab_procrastinate_libpq as libpq
import tasklab_procrastinate_retries as retries
from procrastinate import cli
from procrastinate.worker import Worker
from tasklab_adapter import LONG_S, Choice, Fact, UnusableApp, seconds
from tasklab_body import OwnBody

COMMAND = "import sys; sys.path.append(sys.path.pop(0)); from procrastinate.cli import main; main()"
"""What `python -c` runs: the script `procrastinate`."""
SCALED_LEASE_S = 6.0
"""The lease in the lab, where it is longer than LONG_S; heartbeats are scaled alike."""
SCALED_WAIT_S = 3.0
"""The longest wait before a retry in the lab, where one is longer than LONG_S."""
OVERSLEPT_S = 0.5
"""How much later than its time a periodic task is deferred: `procrastinate.periodic.MARGIN`."""
HEARTBEATS = ("update_heartbeat_interval", "stalled_worker_timeout")


class ProcrastinateApp:
    """The app at a place, one task in it, and the options of its workers. Nothing is connected."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.app = tasklab_adapter.found(choice.place)
        if not isinstance(self.app, procrastinate.App):
            raise UnusableApp(choice.place + " is no App of Procrastinate but " + tasklab_adapter.a(self.app))
        self.connector = libpq.checked(self.app.connector)
        tasklab_adapter.called_unconnected(choice.place, self.app.perform_import_paths)
        self.task = self._task(choice.task or "")
        before = (None,) if self.task.pass_context else ()
        self.own = OwnBody(choice, self.task.func, before=before) if choice.keep_body else None
        """The task's own code, if it stays."""
        self.options = _options(choice)
        self._check_workers()
        self.recoveries = retries.recoveries(self.app)
        self.waits_now = retries.waits_s(self.task)
        self.now = {name: float(self.value(name)) for name in HEARTBEATS}
        """The heartbeats as the app states them."""
        self.crons = [one.cron for one in self.recoveries]
        self.factor = 1.0
        self._turned: Optional[Mapping[str, Any]] = None
        self._turning = threading.Lock()
        if not choice.unscaled:
            self._scale()

    def _task(self, name: str) -> Any:
        tasks = self.app.tasks
        if name not in tasks:
            near = tasklab_adapter.hint(name, [one for one in tasks if not one.startswith("builtin:")])
            raise UnusableApp(self.choice.place + " has no task " + repr(name) + near)
        return tasks[name]

    def _check_workers(self) -> None:
        queues = self.value("queues")
        if queues and self.task.queue not in queues:
            named = ", ".join(queues)
            raise UnusableApp(
                "no worker takes jobs of the queue %r of the task: they take %s" % (self.task.queue, named)
            )
        if not self.value("wait"):
            raise UnusableApp("with --one-shot (wait=False) a worker ends when its queues are empty")

    def value(self, name: str) -> Any:
        """An option of the workers in effect."""
        return self._stated(name)[0]

    def _stated(self, name: str) -> Tuple[Any, str]:
        if name in self.options:
            return self.options[name], "procrastinate worker --" + name.replace("_", "-")
        if name in self.app.worker_defaults:
            return self.app.worker_defaults[name], "app.worker_defaults"
        return inspect.signature(Worker.__init__).parameters[name].default, "Procrastinate's default"

    @property
    def delete_jobs(self) -> str:
        """When a worker deletes a job that has ended: never, successful, always."""
        stated = self.value("delete_jobs")
        return str(getattr(stated, "value", stated or "never"))

    @property
    def polling_s(self) -> float:
        """The longest time until a worker sees a job that has become due, of which no notification tells it."""
        return float(self.value("fetch_job_polling_interval"))

    def lease_s(self) -> Optional[float]:
        """How long the jobs of a worker without a heartbeat are left to it; None: for ever."""
        return retries.default_lease_s() * self.factor if self.recoveries else None

    def takeover_s(self) -> float:
        """The longest time until the job of a dead worker is queued again and seen; 0: it never is."""
        if not self.recoveries:
            return 0.0
        looks_s: float = min(retries.period_s(one) for one in self.recoveries) + OVERSLEPT_S
        return float(self.lease_s() or 0.0) + looks_s + self.polling_s

    def attempts_max(self) -> Optional[int]:
        """Executions of a task that always fails; None: without a limit."""
        return None if self.waits_now is None else len(self.waits_now) + 1

    def delays_s(self) -> Optional[List[Tuple[float, float]]]:
        """[least, most] seconds before each retry, in the lab."""
        waits = retries.waits_s(self.task)
        return None if waits is None else [(max(0.0, s - 0.1), s + self.polling_s + 1.0) for s in waits]

    def _scale(self) -> None:
        if self.recoveries:
            self.factor = min(1.0, SCALED_LEASE_S / retries.default_lease_s())
            scaled = {name: value * self.factor for name, value in self.now.items()}
            self.app.worker_defaults = {**self.app.worker_defaults, **scaled}
            retries.scale_recoveries(self.app, self.factor)
            self.recoveries = retries.recoveries(self.app)
        longest_s = max(self.waits_now or [0.0])
        if longest_s > LONG_S:
            self.task.retry_strategy = retries.ScaledRetries(self.task.retry_strategy, SCALED_WAIT_S / longest_s)

    def turn(self, services: Mapping[str, Any]) -> None:
        """Point the connector of a worker at the lab's PostgreSQL. `services`: by name the address, and what it needs to log in."""
        tasklab_guard.allow(services)
        libpq.turn(self.connector, services["postgresql"])

    def turn_client(self, services: Mapping[str, Any]) -> None:
        """The same for the lab's clients, of whatever thread; the app is open then."""
        with self._turning:
            if services != self._turned:
                tasklab_guard.allow(services)
                libpq.turn_client(self.connector, services["postgresql"])
                self._turned = services

    def put_handler_in(self) -> None:
        """Replace the body of the task by the lab's handler, which may call it; its options, middleware and retries stay."""
        import tasklab_probe  # on the path of worker processes only

        task, own, takes_context = self.task, self.own, self.task.pass_context

        def handle(context: Any, payload: Mapping[str, Any]) -> Any:
            if own is not None:
                return own.run(payload, *([context] if takes_context else []), attempt=context.job.attempts + 1)
            try:
                return tasklab_probe.run_task(payload, attempt=context.job.attempts + 1, key=str(context.job.id))
            except tasklab_probe.TaskError as error:
                raise retries.raised(task, error) from error

        async def handle_async(context: Any, payload: Mapping[str, Any]) -> Any:
            if own is not None:
                return await own.run_async(
                    payload, *([context] if takes_context else []), attempt=context.job.attempts + 1
                )
            try:
                return await tasklab_probe.run_task_async(
                    payload, attempt=context.job.attempts + 1, key=str(context.job.id)
                )
            except tasklab_probe.TaskError as error:
                raise retries.raised(task, error) from error

        task.func = handle_async if inspect.iscoroutinefunction(task.func) else handle
        task.pass_context = True  # the lab's handler needs the number of the attempt

    def facts(self) -> Tuple[Fact, ...]:
        """What the lab has read of the app."""
        return (
            Fact("queue", self.task.queue, "task.queue", "jobs are deferred to it, as the app defers them"),
            *self._facts_of_locks(),
            self._fact_of_retries(),
            self._fact_of_recovery(),
            self._fact_of_lease(),
            *(self._fact_of_heartbeat(name) for name in HEARTBEATS),
            self._fact(
                "fetch_job_polling_interval", seconds(self.polling_s), "a job that becomes due is seen this late"
            ),
            self._fact("concurrency", str(self.value("concurrency")), "jobs that one worker runs at a time"),
            self._fact("delete_jobs", self.delete_jobs, "deleted jobs cannot be read or listed"),
        )

    def _fact(self, name: str, value: str, means: str, scaled: Optional[str] = None) -> Fact:
        return Fact(name, value, self._stated(name)[1], means, scaled)

    def _fact_of_heartbeat(self, name: str) -> Fact:
        means = {
            "update_heartbeat_interval": "how often a worker shows that it lives",
            "stalled_worker_timeout": "a worker that starts forgets those that were silent for so long",
        }[name]
        scaled = seconds(self.value(name)) if self.factor < 1.0 else None
        source = "Procrastinate's default"
        if name in self.app.worker_defaults and scaled is None:
            source = "app.worker_defaults"
        return Fact(name, seconds(self.now[name]), source, means, scaled)

    def _facts_of_locks(self) -> Iterator[Fact]:
        if self.task.lock is not None:
            yield Fact("lock", self.task.lock, "task.lock", "one job of the task runs at a time, in their order")
        if self.task.queueing_lock is not None:
            means = "while one job of the task waits, every other is refused"
            yield Fact("queueing_lock", self.task.queueing_lock, "task.queueing_lock", means)

    def _fact_of_retries(self) -> Fact:
        means = "seconds before each retry of a job that fails; then it has failed"
        if not self.waits_now:
            value = "without a limit" if self.waits_now is None else "none"
            return Fact(
                "retry",
                value,
                "task.retry_strategy",
                "a job that fails is not run again" if self.waits_now == [] else means,
            )
        now = retries.waits_s(self.task)
        scaled = None if not isinstance(self.task.retry_strategy, retries.ScaledRetries) else str(now)
        return Fact("retry", str(self.waits_now), "task.retry_strategy", means, scaled)

    def _fact_of_recovery(self) -> Fact:
        source = "periodic tasks whose code names get_stalled_jobs"
        if not self.recoveries:
            return Fact("stalled jobs", "never looked for", source, "a job whose worker is killed is never run again")
        scaled = self.recoveries[0].cron if self.factor < 1.0 else None
        value = ", ".join("%s at %s" % pair for pair in zip([one.task.name for one in self.recoveries], self.crons))  # noqa: B905
        return Fact(
            "stalled jobs",
            value,
            source,
            "jobs of dead workers are retried then, if they have no other task in hand",
            scaled,
        )

    def _fact_of_lease(self) -> Fact:
        lease_s = self.lease_s()
        means = "a worker whose heartbeat is older is dead, if the app's call states no other time"
        scaled = seconds(lease_s) if lease_s is not None and self.factor < 1.0 else None
        return Fact("lease", seconds(retries.default_lease_s()), "JobManager.get_stalled_jobs", means, scaled)


def _options(choice: Choice) -> Dict[str, Any]:
    """The options of `procrastinate worker` with the user's arguments and variables, as the installed command reads them."""
    said = io.StringIO()
    parser = cli.add_arguments(cli.create_parser(), include_app=False)
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            return dict(vars(parser.parse_args(["worker", *choice.worker_arguments])))
    except SystemExit as error:
        last = said.getvalue().strip().split("\n")[-1]
        raise UnusableApp("procrastinate worker does not take these arguments: " + last) from error


def _app() -> Any:
    libpq.guard_pools()
    prepared = tasklab_adapter.prepared(ProcrastinateApp)
    if prepared is None:
        return None
    prepared.put_handler_in()
    return prepared.app


app = _app()
"""In a process of the lab that runs a command of Procrastinate: the app, turned to the lab's PostgreSQL."""
