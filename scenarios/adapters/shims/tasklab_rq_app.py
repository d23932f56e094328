"""A function of RQ in the lab: its queue is turned to the lab's Redis, and the lab's handler is enqueued in its place.

Imported by the client process, and by the library's own worker command (`WORKER_COMMAND`). Besides the standard library and the
other shims it imports RQ and its libraries (click, redis) only, from Python 3.8 on.
"""

import inspect
import math
import sys
from datetime import timedelta
from types import ModuleType, SimpleNamespace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import click
import redis
import rq
import rq.cli
import rq.cli.helpers
import rq.defaults
import rq.utils
import tasklab_adapter
import tasklab_guard
from redis.backoff import NoBackoff
from redis.retry import Retry as ClientRetry
from rq.decorators import job as job_decorator
from rq.job import Job
from rq.serializers import DefaultSerializer
from tasklab_adapter import LONG_S, Choice, Fact, UnusableApp, seconds
from tasklab_body import OwnBody

WORKER_COMMAND = (
    "import sys; sys.path.append(sys.path.pop(0)); import tasklab_rq_app; from rq.cli import main; main(prog_name='rq')"
)
"""What `python -c` runs: the script `rq`, after the import of this module."""
SCALED: Mapping[str, int] = {"worker_ttl": 17, "maintenance_interval": 2, "job_monitoring_interval": 2}
"""Options of `rq worker` that are scaled if they let a worker rest for more than LONG_S."""
DEQUEUE_LESS_S = 15
"""An idle worker waits for `worker_ttl` less this, `BaseWorker.dequeue_timeout`, and looks after abandoned jobs then only."""
SCALED_INTERVAL_S = 3
"""The longest interval of a scaled Retry; RQ counts in whole seconds."""
STUCK_S = 60
"""How long a job lies in the intermediate queue before it is taken for stuck: `IntermediateQueue.should_be_cleaned_up`."""
SCHEDULER_S = 1
"""How often a scheduler looks for due jobs: `RQScheduler.interval`; its lock outlasts it by STUCK_S."""


class RqApp:
    """The function at a place, its decorator and queue, and the options of its workers. Nothing is connected."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.function = tasklab_adapter.found(choice.place)
        if not callable(self.function) or isinstance(self.function, type):
            raise UnusableApp(
                choice.place + " is no function but " + tasklab_adapter.a(self.function) + _functions_near(choice.place)
            )
        if _needs_object(choice.place):
            raise UnusableApp(choice.place + " is a method: no worker of RQ has an object to call it on")
        if getattr(self.function, "__name__", "") == "<lambda>":
            raise UnusableApp(choice.place + " is a lambda: RQ's workers find a function by its own name")
        self.own = OwnBody(choice, self.function) if choice.keep_body else None
        """The function itself, if it stays."""
        self.decorator = _decorator_of(self.function)
        self.options = _options(choice)
        self.queue = self._queue()
        if not self.queue.is_async:
            raise UnusableApp("its queue has is_async=False: the caller runs the job itself, and no worker takes part")
        tasklab_adapter.check_redis(self.queue.connection)
        self.worker_class = _worker_class(self.options["worker_class"])
        self.scaled: Dict[str, int] = {}
        self.intervals_now = self.intervals_s()
        if not choice.unscaled:
            self._scale()

    def _queue(self) -> Any:
        stated = self.decorator
        if stated is None:  # the app states no client: this one tries a command once
            return rq.Queue(connection=redis.Redis(retry=ClientRetry(NoBackoff(), 0)))
        if not isinstance(stated.queue, str):
            return stated.queue
        if stated.connection is None:
            raise UnusableApp("the decorator of " + self.choice.place + " names the queue without a connection")
        return stated.queue_class(name=stated.queue, connection=stated.connection)

    def stated(self, name: str) -> Any:
        """A value of the decorator, or None."""
        return getattr(self.decorator, name, None)

    @property
    def retry(self) -> Any:
        """The Retry of the decorator, or None: a job that fails is not run again."""
        return self.stated("retry")

    @property
    def has_scheduler(self) -> bool:
        """Whether the workers run the scheduler, without which no job with an interval or a time is ever run."""
        return bool(self.options["with_scheduler"])

    @property
    def timeout_s(self) -> int:
        """How long a job may run; -1: without end."""
        stated = rq.utils.parse_timeout(self.stated("timeout"))
        return int(self.queue._default_timeout if stated is None else stated)

    @property
    def result_ttl_s(self) -> int:
        """How long a finished job is kept; -1: for ever."""
        stated = self.stated("result_ttl")
        return int(self.options["results_ttl"] if stated is None else stated)

    @property
    def failure_ttl_s(self) -> int:
        """How long a failed job is kept; -1: for ever."""
        stated = self.stated("failure_ttl")
        return int(rq.defaults.DEFAULT_FAILURE_TTL if stated is None else stated)

    def attempts_max(self) -> int:
        """The number of executions of a task that always fails."""
        return 1 if self.retry is None else int(self.retry.max) + 1

    def intervals_s(self) -> List[int]:
        """Before each retry, as the installed `Job.get_retry_interval` answers."""
        if self.retry is None:
            return []
        left = range(self.retry.max, 0, -1)
        return [
            int(Job.get_retry_interval(SimpleNamespace(retries_left=n, retry_intervals=self.retry.intervals)))
            for n in left
        ]

    def delays_s(self) -> List[Tuple[float, float]]:
        """[least, most] seconds before each retry: due times lose their fraction, and the scheduler looks once a second."""
        return [(max(0.0, s - 1.0), s + (2.0 if s else 1.0) * SCHEDULER_S) for s in self.intervals_s()]

    def lease_s(self) -> float:
        """How long a worker that gives no sign of life keeps its job, as the installed worker computes it."""
        settings = SimpleNamespace(job_monitoring_interval=self.value("job_monitoring_interval"))
        return float(self.worker_class.get_heartbeat_ttl(settings, SimpleNamespace(timeout=self.timeout_s)))

    def round_s(self) -> float:
        """The longest time between two looks of an idle worker after abandoned jobs."""
        return float(self.value("maintenance_interval") + max(1, self.value("worker_ttl") - DEQUEUE_LESS_S))

    def takeover_s(self) -> float:
        """The longest time until the job of a killed worker is queued again, or failed.

        Both waits in turn: if Redis died while the job was being started, it is taken for started until its lease has run out, and
        after that it lies in the intermediate queue until it is taken for stuck.
        """
        return self.lease_s() + STUCK_S + 2 * self.round_s() + (SCHEDULER_S if self.has_scheduler else 0)

    def value(self, name: str) -> int:
        """An option of `rq worker`, as it is in the lab."""
        return int(self.scaled.get(name, self.options[name]))

    def worker_arguments(self) -> List[str]:
        """What follows `rq worker --url URL`: the user's arguments, what is scaled, and the queues."""
        mine = [] if self.queue.serializer is DefaultSerializer else ["--serializer", _path(self.queue.serializer)]
        arguments = [*mine, *self.choice.worker_arguments]
        for name, value in sorted(self.scaled.items()):
            arguments += ["--" + name.replace("_", "-"), str(value)]
        listened = self.queues()
        return arguments + [name for name in listened if name not in self.options["queues"]]

    def queues(self) -> List[str]:
        """The queues that the workers listen to: those of their arguments or settings, and that of the function."""
        named = [*self.options["queues"]]
        if not named and self.options["config"]:
            named = [*_settings(self.options["config"]).get("QUEUES", [])]
        return named if self.queue.name in named else [*named, self.queue.name]

    def facts(self) -> Tuple[Fact, ...]:
        """The settings that decide what a test expects."""
        fetch = "BLMOVE to the intermediate queue" if len(self.queues()) == 1 else "BLPOP"
        lost = (
            "a job between fetch and start is found again"
            if len(self.queues()) == 1
            else ("a job between fetch and start is lost with its worker: several queues")
        )
        return (
            Fact(
                "broker",
                "redis",
                tasklab_adapter.a(self.queue.connection),
                "the service that the lab starts and strikes",
            ),
            Fact("queue", self.queue.name, self._source("queue"), "tasks are sent to it, as the app sends them"),
            Fact("fetched by", fetch, "the queues of the worker: " + ", ".join(self.queues()), lost),
            *self._facts_of_retries(),
            Fact(
                "timeout",
                seconds(self.timeout_s),
                self._source("timeout", "default_timeout of the queue"),
                "a job that runs for longer fails",
            ),
            *self._facts_of_worker(),
            Fact(
                "lease",
                seconds(self._lease_now_s()),
                _path(self.worker_class) + ".get_heartbeat_ttl",
                "after this time without a sign of life a job is abandoned: retried if it has retries left, else failed",
                None if "job_monitoring_interval" not in self.scaled else seconds(self.lease_s()),
            ),
            Fact(
                "result_ttl",
                _kept(self.result_ttl_s),
                self._source("result_ttl", "rq worker --results-ttl"),
                "how long a finished job and its result can be read",
            ),
            Fact(
                "failure_ttl",
                _kept(self.failure_ttl_s),
                self._source("failure_ttl"),
                "how long a failed job can be read",
            ),
        )

    def _facts_of_retries(self) -> Iterator[Fact]:
        yield Fact(
            "retry",
            str(self.attempts_max() - 1),
            self._source("retry"),
            "executions of a task that always fails, less one",
        )
        if not any(self.intervals_now) and not self.has_scheduler:
            return
        scaled = str(self.intervals_s()) if self.intervals_s() != self.intervals_now else None
        if any(self.intervals_now):
            yield Fact("intervals", str(self.intervals_now), self._source("retry"), "seconds before each retry", scaled)
        means = (
            "it moves jobs to the queue when they are due"
            if self.has_scheduler
            else "retries with an interval are never run; if your workers run it: --worker=--with-scheduler"
        )
        yield Fact("scheduler", "runs" if self.has_scheduler else "does not run", "rq worker --with-scheduler", means)

    def _facts_of_worker(self) -> Iterator[Fact]:
        meanings = {
            "worker_ttl": "an idle worker rests for this less %d s before it looks after others' jobs" % DEQUEUE_LESS_S,
            "maintenance_interval": "how often a worker looks for abandoned jobs, if it does not rest",
            "job_monitoring_interval": "how often a worker renews the lease of its job",
        }
        for name, means in meanings.items():
            scaled = seconds(self.scaled[name]) if name in self.scaled else None
            option = "rq worker --" + name.replace("_", "-")
            yield Fact(name, seconds(self.options[name]), option, means, scaled)

    def _source(self, name: str, default: str = "RQ's default") -> str:
        if self.decorator is None:
            return default + ": the function has no decorator"
        return "the decorator" if self.stated(name) is not None else default

    def _lease_now_s(self) -> float:
        settings = SimpleNamespace(job_monitoring_interval=self.options["job_monitoring_interval"])
        return float(self.worker_class.get_heartbeat_ttl(settings, SimpleNamespace(timeout=self.timeout_s)))

    def _scale(self) -> None:
        rests = {**self.options, "worker_ttl": self.options["worker_ttl"] - DEQUEUE_LESS_S}
        self.scaled = {name: value for name, value in SCALED.items() if rests[name] > LONG_S}
        longest = max(self.intervals_now, default=0)
        if longest > LONG_S:
            stated = self.retry
            shorter = [math.ceil(s * SCALED_INTERVAL_S / longest) for s in stated.intervals]
            self.decorator.retry = rq.Retry(stated.max, shorter, enqueue_at_front=stated.enqueue_at_front)

    def turn(self, services: Mapping[str, Any]) -> None:
        """Point the queue at the lab's Redis. `services`: by name the address with host and port."""
        tasklab_guard.allow(services)
        tasklab_adapter.turn_redis(self.queue.connection, services["redis"])

    def enqueue(self, payload: Mapping[str, Any]) -> Any:
        """Send the lab's handler as the app sends its function: by its decorator, or with RQ's defaults."""
        if self.decorator is None:
            return self.queue.enqueue(handle, payload)
        return self.decorator(handle).enqueue(payload)

    def enqueue_in(self, due_s: float, payload: Mapping[str, Any]) -> Any:
        """The same, to be run later; the decorator has no word for it, so its values are handed to `Queue.enqueue_in`."""
        names = (
            "result_ttl",
            "ttl",
            "failure_ttl",
            "meta",
            "description",
            "retry",
            "on_success",
            "on_failure",
            "on_stopped",
        )
        options = {name: self.stated(name) for name in names}
        options["job_timeout"] = self.stated("timeout")
        return self.queue.enqueue_in(timedelta(seconds=due_s), handle, payload, **options)


def handle(payload: Mapping[str, Any]) -> Any:
    """The lab's handler, in place of the app's function, or around it: a worker that could not import it would run no production code."""
    import tasklab_probe  # on the path of worker processes only

    job = rq.get_current_job()
    assert app is not None and job is not None, "only workers of the lab run it"  # noqa: PT018
    attempt = app.attempts_max() - (job.retries_left or 0)
    if app.own is not None:
        return app.own.run(payload, attempt=attempt)
    return tasklab_probe.run_task(payload, attempt=attempt, key=job.id)


def _decorator_of(function: Any) -> Any:
    """The `rq.decorators.job` that gave the function its `enqueue` or `delay`; None for a plain function."""
    for name in ("enqueue", "delay"):
        for cell in getattr(getattr(function, name, None), "__closure__", None) or ():
            if isinstance(cell.cell_contents, job_decorator):
                return cell.cell_contents
    return None


def _options(choice: Choice) -> Dict[str, Any]:
    """The options of `rq worker` with the user's arguments, as the installed command reads them."""
    try:
        parsed = rq.cli.worker.make_context("rq worker", [*choice.worker_arguments]).params
    except click.ClickException as error:
        raise UnusableApp("rq worker does not take these arguments: " + error.format_message()) from error
    except click.exceptions.Exit as error:
        raise UnusableApp("with these arguments rq worker starts no worker") from error
    if parsed["name"] and choice.workers > 1:
        raise UnusableApp("two workers cannot have one name: leave --name out, or state --workers 1")
    return dict(parsed)


def _worker_class(path: str) -> Any:
    try:
        return rq.utils.import_worker_class(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise UnusableApp("--worker-class " + path + ": " + str(error)) from error


def _settings(module: str) -> Mapping[str, Any]:
    tasklab_adapter.found(module + ":__name__")  # it must not connect either
    return dict(rq.cli.helpers.read_config_file(module))


def _functions_near(place: str) -> str:
    module = sys.modules[place.partition(":")[0]]
    names: Sequence[str] = [name for name, value in vars(module).items() if _decorator_of(value) is not None]
    return "; its functions with a decorator of RQ are " + ", ".join(sorted(names)) if names else ""


def _needs_object(place: str) -> bool:
    """Whether the place names a method through its class, and neither a static method nor one of the class."""
    module_name, _, attribute = place.partition(":")
    owner, _, name = attribute.rpartition(".")
    holder = sys.modules[module_name]
    for each in owner.split(".") if owner else ():
        holder = getattr(holder, each)
    return isinstance(holder, type) and inspect.isfunction(inspect.getattr_static(holder, name))


def _path(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    kind = value if isinstance(value, type) else type(value)
    return kind.__module__ + "." + kind.__qualname__


def _kept(ttl_s: int) -> str:
    return "for ever" if ttl_s < 0 else seconds(ttl_s)


app: Optional[RqApp] = tasklab_adapter.prepared(RqApp)
"""In a worker process of the lab: the app, turned to the lab's Redis."""
