"""Celery as a system under test: workers by its own command, and clients that send tasks as the app does.

Runs in the client process, in the user's Python, from 3.8 on.
"""

import json
import sys
import traceback
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import kombu
import tasklab_adapter
import tasklab_body
from kombu.serialization import prepare_accept_content
from tasklab_adapter import Choice, Fact, seconds
from tasklab_celery_app import ON_REDIS, CeleryApp
from tasklab_celery_options import CONCURRENCY
from tasklab_plugin import Outcome, Pace, Policy, ProcessSpec, ReadStatus, Submit

CLAIMS = ("no_lost_task", "no_stuck_task", "no_phantom_task", "duplicates_explained")
WORKER_COMMAND = "import sys; sys.path.pop(0); from celery.__main__ import main; sys.exit(main())"
"""The script `celery`. `python -m` would search the present directory before the standard library."""
IDLE_S = 5.0
"""Longest rest of a worker that has work, without retries and leases: a lost connection is opened again after some seconds."""
BUDGET_S = 30.0
PEEKED_MAX = 1_000
INSPECT_S = 2.0
UNCONFIRMED = (
    "without confirm_publish a send does not wait for RabbitMQ's confirmation, so what dies with the connection is not noticed: "
    "https://www.rabbitmq.com/docs/confirms#publisher-confirms"
)
UNKNOWN_IS_PENDING = (
    "results are kept in Redis only, and a task of which it knows nothing (any more) is PENDING: "
    "https://docs.celeryq.dev/en/stable/userguide/tasks.html#pending"
)
EARLY_ACK_URL = "https://docs.celeryq.dev/en/stable/glossary.html#term-early-acknowledgment"
LOST_URL = "https://docs.celeryq.dev/en/stable/userguide/configuration.html#task-reject-on-worker-lost"
RUNS_AGAIN = (
    "a task due beyond the visibility timeout is delivered, and runs, again: "
    "https://docs.celeryq.dev/en/stable/getting-started/backends-and-brokers/redis.html#caveats"
)
FORKING_POOLS = ("prefork", "processes")
STATES = {"STARTED": "RUNNING", "RETRY": "RETRYING", "SUCCESS": "SUCCEEDED", "FAILURE": "DEAD", "REVOKED": "CANCELLED"}
"""Celery's words for how a task is, in the lab's."""


class CeleryQueue:
    """An app of Celery, as it is configured."""

    name = "celery"

    def __init__(self, app: CeleryApp) -> None:
        self._app = app
        choice = app.choice
        self.needs = {app.broker, *(["redis"] if app.backend == "redis" else [])}
        self.claims = set(choice.claims or (*CLAIMS, *(["outcome_reported"] if app.stores_results else [])))
        forks = (app.options.pool or app.conf.worker_pool) in FORKING_POOLS
        self.capabilities = {"submit", "due", *(["status"] if app.stores_results else []), *(["pool"] if forks else [])}
        self.capabilities |= tasklab_body.capabilities(app.own, app.stores_results)
        self.capabilities |= {"no_takeover"} if app.lease_s() is None else set()
        delays_s = app.retries.delays_s()
        lease_s = app.lease_s()
        taken_over_s = (app.message_lease_s() or 0.0) + app.sweep_s()
        lost_s = float(app.conf.worker_lost_wait)
        self.pace = Pace(quiet_s=IDLE_S + lost_s + app.retries.longest_s() + 2 * taken_over_s, lease_s=lease_s)
        self.policy = Policy(
            attempts_max=None if delays_s is None else (app.retries.retries_max() or 0) + 1,
            delays_s=delays_s,
            permanent_errors=app.retries.permanent_errors() if app.own is None else ("permanent",),
            budget_s=BUDGET_S + lost_s + 2 * taken_over_s + sum(most for _, most in delays_s or ()),
            lease_s=lease_s if app.broker == "redis" else None,
        )
        self.facts = (*_facts_of_broker(app), *_facts_of_worker(app), *_facts_of_retries(app), *_facts_of_results(app))
        sends_blindly = app.broker == "rabbitmq" and not app.option("confirm_publish")
        self.documented = {
            **({"no_lost_task": UNCONFIRMED} if sends_blindly else {}),
            **({"outcome_reported": UNKNOWN_IS_PENDING} if app.backend == "redis" else {}),
        }
        self.documented.update({"duplicates_explained": RUNS_AGAIN} if app.broker == "redis" else {})
        self.documented_deaths = _documented_deaths(app)
        self.versions = tasklab_adapter.versions("celery", "kombu", "billiard", "amqp", "redis")

    def processes(self, services: Any, handlers: Any) -> List[ProcessSpec]:
        """Workers by `python -m celery … worker`, of the task's queue, with the pool and the settings of the app and of --worker."""
        argv = [sys.executable, "-c", WORKER_COMMAND, "-A", "tasklab_celery_app:app", "worker", "--loglevel", "INFO"]
        options = self._app.options
        argv += options.unless_stated("--queues", "-Q", self._app.queue)
        if not self._app.conf.worker_concurrency and not options.states("--autoscale"):
            argv += options.unless_stated("--concurrency", "-c", CONCURRENCY)
        return [
            ProcessSpec(
                name,
                "worker",
                [*argv, "--hostname", name + "@%h", *self._app.choice.worker_arguments],
                self._environment(services, handlers, name),
                Path.cwd(),
            )
            for name in tasklab_adapter.worker_names(self._app.choice)
        ]

    def client(self, services: Any) -> "CeleryClient":
        """A client that sends by the task itself."""
        addresses = tasklab_adapter.addresses(services)
        self._app.turn(addresses)
        return CeleryClient(self._app, tasklab_adapter.ClientBroker(addresses[self._app.broker]))

    def dump(self, services: Any) -> Dict[str, str]:
        """Where tasks lie: with a worker, in the queue, or on Redis unacknowledged. Nothing is taken away."""
        self._app.turn(tasklab_adapter.addresses(services))
        lying: Dict[str, str] = {}
        for read in (self._in_broker, self._in_workers):
            try:
                lying.update(read())
            except Exception:  # noqa: BLE001 — a broker that was struck may raise anything; what else is known is still of use
                traceback.print_exc()
        return lying

    def _environment(self, services: Any, handlers: Any, name: str) -> Any:
        addresses = tasklab_adapter.addresses(services.as_seen_by(name))
        return {
            **tasklab_adapter.environment_for(self._app.choice, addresses, handlers.environment_of(name)),
            "C_FORCE_ROOT": "1",  # apps that accept pickle: in the lab the worker may be root, and only the lab reaches the broker
        }

    def _in_broker(self) -> Iterator[Tuple[str, str]]:
        with self._app.app.connection_for_read() as connection:
            channel = connection.default_channel
            yield from self._read_redis(channel) if self._app.broker == "redis" else self._peeked(channel)

    def _peeked(self, channel: Any) -> Iterator[Tuple[str, str]]:
        queue = kombu.Queue(self._app.queue, no_declare=True)(channel)
        for _ in range(PEEKED_MAX):  # what is fetched and not acknowledged goes back when the connection closes
            message = queue.get(no_ack=False)
            if message is None:
                return
            yield self._task_in(message), "the queue " + self._app.queue

    def _read_redis(self, channel: Any) -> Iterator[Tuple[str, str]]:
        prefix = channel.global_keyprefix or ""  # which kombu's client puts before the keys of its own commands only
        for step in channel.priority_steps:
            key = prefix + channel._q_for_pri(self._app.queue, step)
            for raw in channel.client.lrange(key, 0, PEEKED_MAX):
                yield self._task_in(channel.message_to_python(json.loads(raw))), "the list " + key
        key = prefix + channel.unacked_key
        for raw in channel.client.hgetall(key).values():
            yield self._task_in(channel.message_to_python(json.loads(raw)[0])), "the hash " + key

    def _in_workers(self) -> Iterator[Tuple[str, str]]:
        inspect = self._app.app.control.inspect(timeout=INSPECT_S)
        for how in ("scheduled", "reserved", "active"):
            for worker, requests in (getattr(inspect, how)() or {}).items():
                for request in requests:
                    arguments = request.get("request", request)["args"]
                    if arguments and isinstance(arguments[0], dict) and "task" in arguments[0]:
                        yield str(arguments[0]["task"]), worker + ": " + how

    def _task_in(self, message: Any) -> str:
        message.accept = prepare_accept_content(self._app.conf.accept_content)
        payload = message.payload
        arguments = payload["args"] if isinstance(payload, dict) else payload[0]
        return str(arguments[0]["task"])


class CeleryClient:
    """Sends tasks, and reads results where the app keeps them for every client. One thread."""

    def __init__(self, app: CeleryApp, broker: tasklab_adapter.ClientBroker) -> None:
        self._app = app
        self._broker = broker

    def invoke(self, operation: Any) -> Outcome:
        """Send a task, once, or read the result of one."""
        if isinstance(operation, Submit):
            return self._send(operation)
        if isinstance(operation, ReadStatus) and self._app.stores_results:
            return self._read(operation)
        return Outcome("fail", detail="the adapter of Celery has no " + type(operation).__name__)

    def _send(self, submit: Submit) -> Outcome:
        if self._broker.refuses():
            return Outcome("fail", detail="the broker accepts no connection")
        options = {} if submit.due_s is None else {"countdown": submit.due_s}
        try:
            sent = self._app.task.apply_async(
                (tasklab_body.sent(self._app.own, submit.payload),), retry=False, **options
            )
        except Exception as error:  # noqa: BLE001 — whatever the app's signals and its broker raise: the message may have been sent
            self._broker.has_failed = True
            return Outcome("info", detail=repr(error))
        return Outcome("ok", id=sent.id)

    def _read(self, read: ReadStatus) -> Outcome:
        try:
            stored = self._app.task.backend.get_task_meta(read.id, cache=False)
        except Exception as error:  # noqa: BLE001 — whatever the backend raises
            return Outcome("info", detail=repr(error))
        state = STATES.get(stored["status"], "PENDING")
        returned = stored["result"] if state == "SUCCEEDED" and self._app.own is None else None
        return Outcome("ok", state=state, result=(returned or {}).get("result"))

    def close(self) -> None:
        """Nothing: the app's pool of connections is shared by all threads."""


_MEANS = {
    "visibility_timeout": "from its delivery on a message is with one worker for this time, also if it waits there; then with others too",
    "unacked_restore_interval": "a worker looks after messages whose time is over so often",
    "unacked_restore_throttle": "of these looks only each so-manieth is done",
    "unacked_mutex_expire": "a worker killed while it looks keeps the others from looking for this time",
    "health_check_interval": "how soon a dead connection is noticed",
    "worker_lost_wait": "how long a worker waits for the result of a pool process that died, before it gives the task up",
    "broker_heartbeat": "RabbitMQ takes the smaller of it and 60 s, and gives up a silent worker after twice that time",
}


def _documented_deaths(app: CeleryApp) -> Dict[str, str]:
    """What Celery's documentation says of tasks in the hands of a process that is killed, in this configuration."""
    if not app.task.acks_late:
        lost = (
            "a task is acknowledged just before it runs, so it is not delivered again if its worker is killed: "
            + EARLY_ACK_URL
        )
    elif not app.task.reject_on_worker_lost:
        lost = (
            "a task whose pool process is killed is acknowledged all the same, without task_reject_on_worker_lost: "
            + LOST_URL
        )
    else:
        return {}
    return {"no_lost_task": lost, "no_stuck_task": lost}


def _facts_of_broker(app: CeleryApp) -> Tuple[Fact, ...]:
    facts = (
        Fact("broker", app.broker, app.source("broker_url"), "the service that the lab starts and strikes"),
        Fact("queue", app.queue, "task_routes, task_default_queue", "tasks are sent to it; the lab's workers serve it"),
        _of_conf(
            app,
            "task_publish_retry",
            "the lab's clients send each task once (retry=False), so that a repeat is seen as one",
        ),
    )
    if app.broker == "redis":
        return (*facts, *(_scalable(app, name, app.option(name, default)) for name, default in ON_REDIS.items()))
    confirms = bool(app.option("confirm_publish", False))
    means = "a send that RabbitMQ did not take is " + ("noticed" if confirms else "acknowledged to the client")
    return (
        *facts,
        Fact("confirm_publish", str(confirms), _source_of_confirms(app), means),
        _scalable(app, "broker_heartbeat", app.conf.broker_heartbeat),
    )


def _source_of_confirms(app: CeleryApp) -> str:
    return "kombu's default" if app.option("confirm_publish") is None else "broker_transport_options"


def _facts_of_worker(app: CeleryApp) -> Tuple[Fact, ...]:
    task = app.task
    lost = {True: "a killed worker's task is delivered again", False: "a killed worker's task is lost"}
    return (
        _of_task(
            app,
            "acks_late",
            "acknowledged after it ran: " + lost[True]
            if task.acks_late
            else "acknowledged before it runs: " + lost[False],
        ),
        _of_task(
            app, "reject_on_worker_lost", "whether a task whose pool process died is delivered again; else it fails"
        ),
        *_fact_of_lost_retries(app),
        _of_conf(app, "worker_prefetch_multiplier", "messages that a worker holds for each process of its pool"),
        _fact_of_pool(app),
        _of_conf(
            app,
            "worker_concurrency",
            "processes of the pool; the lab starts " + CONCURRENCY + " if the app states none",
        ),
        _scalable(app, "worker_lost_wait", app.conf.worker_lost_wait),
        _of_task(app, "time_limit", "seconds until the process of a task is killed"),
        _of_task(app, "soft_time_limit", "seconds until a task is interrupted by an exception"),
        _of_task(app, "rate_limit", "how often a worker may start the task"),
    )


def _fact_of_lost_retries(app: CeleryApp) -> Iterator[Fact]:
    if hasattr(app.task, "retry_on_worker_lost"):  # not in earlier versions
        means = "whether a task whose pool process died is retried, within max_retries"
        yield _of_task(app, "retry_on_worker_lost", means)


def _fact_of_pool(app: CeleryApp) -> Fact:
    means = "what runs the tasks of a worker"
    if app.options.pool is not None:
        return Fact("pool", app.options.pool, "celery worker --pool", means)
    return Fact("pool", str(app.conf.worker_pool), app.source("worker_pool"), means)


_RETRIED_BY = {
    "autoretry_for": ("the exceptions of autoretry_for", "the lab's failures are of its first class, if they must be"),
    "self.retry": (
        "a retry that the body calls",
        "the lab's handler calls retry(exc=…); what the body passes is not seen",
    ),
    "": ("nothing", "no autoretry_for, and the body calls no retry: a task that fails once has failed"),
}


def _facts_of_retries(app: CeleryApp) -> Tuple[Fact, ...]:
    what, means = _RETRIED_BY[app.retries.by]
    facts = [Fact("retried by", what, "the task", means)]
    if not app.retries.by:
        return tuple(facts)
    auto, kwargs = app.retries.automatic, app.retries.arguments
    source = "retry_kwargs" if kwargs.get("max_retries") is not None else _source_of_task(app, "max_retries", 3)
    facts.append(
        Fact("max_retries", str(app.retries.retries_max()), source, "executions of a task that always fails, less one")
    )
    before = "seconds before each retry"
    if auto.get("retry_backoff"):
        doubled = "seconds before the first retry; each further one waits twice as long"
        facts.append(Fact("retry_backoff", "%g" % auto["retry_backoff"], "the task", doubled))
        facts.append(_scalable(app, "retry_backoff_max", auto["retry_backoff_max"], "the task", before + ", at most"))
        jitter = "whether each delay is drawn between 0 and that time"
        facts.append(Fact("retry_jitter", str(auto["retry_jitter"]), "the task", jitter))
    elif kwargs.get("countdown") is not None:
        facts.append(_scalable(app, "countdown", kwargs["countdown"], "retry_kwargs", before))
    else:
        source = _source_of_task(app, "default_retry_delay", 180)
        facts.append(_scalable(app, "default_retry_delay", app.task.default_retry_delay, source, before))
    return tuple(facts)


def _facts_of_results(app: CeleryApp) -> Tuple[Fact, ...]:
    kept = {None: "none", "rpc": "rpc://", "redis": "redis"}[app.backend]
    read = "outcome_reported is tested" if app.stores_results else "clients cannot read how a task ended"
    if app.backend == "rpc":
        read = "a result reaches only the thread that sent its task: other clients cannot read how it ended"
    facts = [
        Fact("result_backend", kept, app.source("result_backend"), read),
        _of_task(app, "ignore_result", "whether results of this task are thrown away"),
    ]
    if app.backend == "redis":
        facts.append(_of_conf(app, "result_expires", "how long a result is kept"))
        awaited = "how long an answer of Redis is awaited"
        timeout = app.conf.redis_socket_timeout
        facts.append(_scalable(app, "redis_socket_timeout", timeout, app.source("redis_socket_timeout"), awaited))
    return tuple(facts)


def _scalable(app: CeleryApp, name: str, value: Optional[float], source: str = "", means: str = "") -> Fact:
    shown = str if name == "unacked_restore_throttle" else seconds
    source, means = source or app.source(name), means or _MEANS[name]
    if name in app.scaled:
        value, scaled = app.scaled[name]
        return Fact(name, shown(value), source, means, shown(scaled))
    return Fact(name, "none" if value is None else shown(value), source, means)


def _of_conf(app: CeleryApp, name: str, means: str) -> Fact:
    return Fact(name, str(app.conf[name]), app.source(name), means)


def _of_task(app: CeleryApp, name: str, means: str) -> Fact:
    setting = dict(app.task.from_config).get(name, name)
    value = getattr(app.task, name)
    source = app.source(setting) if value == app.conf.get(setting) else "an option of the task"
    return Fact(name, str(value), source, means)


def _source_of_task(app: CeleryApp, name: str, default: float) -> str:
    value = app.scaled.get(name, (getattr(app.task, name), 0))[0]
    return "Celery's default" if value == default else "an option of the task"


def adapted(**stated: Any) -> Any:
    """The system of a `Choice` with these fields. Raises UnusableApp."""
    return tasklab_adapter.read_by_adapter("celery", Choice(**stated), lambda choice: CeleryQueue(CeleryApp(choice)))
