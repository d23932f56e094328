"""An app of Celery in the lab: its broker and results are turned to the lab's services, the body of its task replaced by the lab's handler.

Imported by the client process, and by the library's own worker command: `python -m celery -A tasklab_celery_app:app worker`. Besides
the standard library and the other shims it imports Celery and its kombu only, from Python 3.8 on.
"""

import inspect
import os
import sys
import threading
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple
from urllib.parse import quote, urlsplit

import tasklab_adapter
from celery import Celery
from celery.app.autoretry import add_autoretry_behaviour
from celery.utils.time import get_exponential_backoff_interval
from tasklab_adapter import LONG_S, Choice, UnusableApp

BROKERS: Mapping[str, str] = {
    **dict.fromkeys(("amqp", "amqps", "pyamqp", "librabbitmq"), "rabbitmq"),
    **dict.fromkeys(("redis", "rediss", "redis+socket"), "redis"),
}
PORTS = {"amqps": 5671, "redis": 6379, "rediss": 6379}
BROKER_URLS = ("broker_url", "broker_read_url", "broker_write_url")
LOGIN_OPTIONS = ("host", "hostname", "port", "userid", "password", "virtual_host", "ssl", "login_method")
SCALED_DELAY_S = 1
SCALED_LEASE_S = 4
SCALED_SWEEP_S = 1
SCALED_TIMEOUT_S = 5
SCALED_HEARTBEAT_S = 4
RABBITMQS_HEARTBEAT_S = 60.0
"""What RabbitMQ proposes: the smaller one is agreed on."""
TIMER_S = 1.0
"""How late a worker may look at its timers (`worker_timer_precision`)."""
SWEEPS = {"unacked_restore_interval": 10, "unacked_restore_throttle": 10}
"""Defaults of kombu's Redis transport: seconds between two looks, and each how-manieth of them reads what lies unacknowledged."""
DELAYS_MAX = 50


class LabFailure(Exception):
    """The task failed as the lab had planned. Client and workers know the class, so that a stored one can be read."""


class App:
    """A task, its app and its settings in effect. Nothing is connected."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.app = _app_at(choice.place)
        tasklab_adapter.called_unconnected(choice.place, self._load)
        self.conf = self.app.conf
        self.task = self._task_named(str(choice.task))
        self.broker = self._broker()
        self.backend = self._backend()
        self.queue = self._queue()
        self._refuse_what_would_run_the_apps_own_code()
        self.retries_by = _retries_by(self.task)
        self.apps_own: Set[Tuple[str, int]] = set()
        """The addresses that the app states for its services: nothing connects to them."""
        self._turned: Optional[Mapping[str, Any]] = None
        self._turning = threading.Lock()
        self.sources: Dict[str, str] = {}
        """Where the values that are scaled were read."""
        self.scaled: Dict[str, Tuple[float, float]] = {}
        if not choice.unscaled:
            self._scale()

    @property
    def stores_results(self) -> bool:
        """Whether any client can read how a task ended. Results by rpc:// reach only the thread that sent the task."""
        return self.backend == "redis" and not self.task.ignore_result

    @property
    def autoretry(self) -> Mapping[str, Any]:
        """The settings of the installed automatic retry of this task, as its wrapper holds them; empty without one."""
        if self.retries_by != "autoretry_for":
            return {}
        return dict(inspect.getclosurevars(self.task.run).nonlocals)

    def option(self, name: str, default: Any = None) -> Any:
        """A transport option of the broker."""
        return (self.conf.broker_transport_options or {}).get(name, default)

    def max_retries(self) -> Optional[int]:
        """How often a task that always fails is retried; None: without end."""
        if not self.retries_by:
            return 0
        stated = (self.autoretry.get("retry_kwargs") or {}).get("max_retries")
        most = self.task.max_retries if stated is None else stated
        return None if most is None else int(most)

    def attempts_max(self) -> Optional[int]:
        """The number of executions of a task that always fails; None: there is no limit."""
        retries = self.max_retries()
        return None if retries is None else retries + 1

    def countdowns_s(self) -> List[Tuple[float, float]]:
        """[least, most] seconds that Celery asks for before each retry, without end of the first ones."""
        retries, auto = self.max_retries(), self.autoretry
        count = DELAYS_MAX if retries is None else min(retries, DELAYS_MAX)
        if not auto.get("retry_backoff"):
            stated = (auto.get("retry_kwargs") or {}).get("countdown")
            fixed = float(self.task.default_retry_delay if stated is None else stated)
            return [(fixed, fixed)] * count
        factor, most_s = int(max(1.0, auto["retry_backoff"])), auto["retry_backoff_max"]
        waits = [float(get_exponential_backoff_interval(factor, number, most_s)) for number in range(count)]
        return [(0.0 if auto["retry_jitter"] else wait, wait) for wait in waits]

    def delays_s(self) -> Optional[List[Tuple[float, float]]]:
        """[least, most] seconds before each retry; the worker's timer may be late."""
        if self.max_retries() is None:
            return None
        return [(least, most + TIMER_S) for least, most in self.countdowns_s()]

    def lease_s(self) -> Optional[float]:
        """How long a worker that stands still keeps the tasks that it runs; None: for ever, or they are acknowledged already."""
        if not self.task.acks_late:
            return None
        return self.message_lease_s()

    def message_lease_s(self) -> Optional[float]:
        """How long a worker that stands still keeps the messages that it has not acknowledged; None: for ever."""
        if self.broker == "redis":
            return float(self.option("visibility_timeout", 3600))
        heartbeat_s = self.heartbeat_s()
        return 2 * heartbeat_s if heartbeat_s else None

    def heartbeat_s(self) -> float:
        """The heartbeat that RabbitMQ and a worker agree on; 0: none."""
        stated = self.conf.broker_heartbeat
        return min(float(stated), RABBITMQS_HEARTBEAT_S) if stated else 0.0

    def sweep_s(self) -> float:
        """The time between two looks of a worker after messages on Redis whose lease has expired."""
        if self.broker != "redis":
            return 0.0
        return float(self.option("unacked_restore_interval", 10)) * float(
            self.option("unacked_restore_throttle", 10) or 1
        )

    def turn(self, services: Mapping[str, Any]) -> None:
        """Point broker and results at the lab's services. `services`: by name the address with host, port and what it needs to log in."""
        with self._turning:
            if services == self._turned:
                return
            if not self.apps_own:
                self.apps_own.update(self._stated_addresses())
                tasklab_adapter.connect_only_here(self.apps_own)
            for name in BROKER_URLS:
                self._set_url(name, _url(self.broker, services))
            for name in ("transport", "login_method", "host", "port", "user", "password", "vhost"):
                self.conf["broker_" + name] = None
            self.conf["broker_use_ssl"] = False
            options = self.conf.broker_transport_options or {}
            self.conf["broker_transport_options"] = {k: v for k, v in options.items() if k not in LOGIN_OPTIONS}
            if self.backend == "redis":
                self._turn_results(services)
            self._forget_connections()
            self._turned = services

    def put_handler_in(self) -> None:
        """Replace the body of the task by the lab's handler; its options, retries and hooks stay."""
        import tasklab_probe  # on the path of worker processes only

        task, hands_back = self.task, self.stores_results

        def handler(payload: Mapping[str, Any]) -> Any:
            request = task.request
            try:
                returned = tasklab_probe.run_task(payload, attempt=request.retries + 1, key=request.id)
            except tasklab_probe.TaskError as error:
                self._fail(str(error), is_permanent=error.kind == "permanent")
            return returned if hands_back else None

        setattr(task, "_orig_run" if self.retries_by == "autoretry_for" else "run", handler)

    def _fail(self, message: str, *, is_permanent: bool) -> None:
        """Raise what the app's own policy retries, or, if the failure is permanent, what it does not retry."""
        failure: BaseException = LabFailure(message)
        if self.retries_by == "self.retry" and not is_permanent:
            raise self.task.retry(exc=failure)
        auto = self.autoretry
        if auto and not is_permanent and not isinstance(failure, auto["autoretry_for"]):
            failure = _made(auto["autoretry_for"][0], message)
        if auto and is_permanent and isinstance(failure, auto["autoretry_for"]) and auto["dont_autoretry_for"]:
            failure = _made(auto["dont_autoretry_for"][0], message)
        raise failure

    def _load(self) -> None:
        self.app.loader.import_default_modules()
        self.app.finalize()
        self.app.conf.broker_url  # noqa: B018 — reads the configuration, which is lazy

    def _task_named(self, name: str) -> Any:
        known = sorted(each for each in self.app.tasks if not each.startswith("celery."))
        if name not in self.app.tasks:
            nearest = tasklab_adapter.hint(name, known) or "; its tasks are " + (", ".join(known) or "none")
            raise UnusableApp(self.choice.place + " has no task " + repr(name) + nearest)
        task = self.app.tasks[name]
        task.__header__ = _any_arguments  # the lab's payload need not fit the signature of the body that it replaces
        task._dump_pydantic_arguments = None
        return task

    def _broker(self) -> str:
        urls = list(self._urls())
        schemes = [str(self.conf.broker_transport or _scheme(url)) for url in urls]
        services = {BROKERS.get(scheme) for scheme in schemes}
        if len(services) != 1 or None in services:
            offered = "the lab can turn amqp:// (RabbitMQ) or redis:// to its own services"
            raise UnusableApp("its broker is " + " and ".join(sorted(set(schemes))) + ":; " + offered)
        return str(services.pop())

    def _urls(self) -> Iterator[str]:
        for name in BROKER_URLS:
            stated = getattr(self.conf, name) or "amqp://"
            for url in stated.split(";") if isinstance(stated, str) else stated:
                yield url if "://" in url else "amqp://" + url

    def _backend(self) -> Optional[str]:
        stated = self.app.backend_cls or self.conf.result_backend
        if self.task._backend is not None:
            raise UnusableApp("the task " + self.task.name + " has a result backend of its own, which cannot be turned")
        if not stated or stated == "disabled":
            return None
        scheme = _scheme(stated) if isinstance(stated, str) else type(stated).__name__
        if scheme not in ("redis", "rediss", "redis+socket", "rpc"):
            offered = "the lab offers redis://, rpc:// or none"
            raise UnusableApp("the results are kept in " + scheme + ":, which the lab cannot turn; " + offered)
        return "rpc" if scheme == "rpc" else "redis"

    def _queue(self) -> str:
        options = dict(self.task._get_exec_options())
        route = self.app.amqp.router.route(options, self.task.name, args=({},), kwargs={}, task_type=self.task)
        queue = route.get("queue") or route.get("routing_key") or self.conf.task_default_queue
        return str(getattr(queue, "name", queue))

    def _refuse_what_would_run_the_apps_own_code(self) -> None:
        stated = self.choice.worker_arguments
        if self.conf.task_always_eager:
            raise UnusableApp(
                "task_always_eager is set: tasks would run where they are sent, and no worker would be tested"
            )
        if self.conf.worker_pool_start_method != "fork" or any("spawn" in each for each in stated):
            raise UnusableApp(
                "pool processes that are spawned would import the app anew, without the lab's handler: use fork"
            )
        if any(each in ("-B", "--beat") for each in stated):
            raise UnusableApp("--worker " + " ".join(stated) + ": beat would send the app's own tasks; leave it out")

    def _scale(self) -> None:
        if max((most for _, most in self.countdowns_s()), default=0.0) > LONG_S:
            self._scale_retries()
        if self.broker == "redis":
            longest_s = max((most for _, most in self.countdowns_s()), default=0.0)
            self._scale_option("visibility_timeout", 3600, max(SCALED_LEASE_S, round(longest_s) + 3))
            if self.sweep_s() > LONG_S:
                for name, default in SWEEPS.items():
                    self._scale_option(name, default, SCALED_SWEEP_S, above_s=SCALED_SWEEP_S)
            self._scale_option("unacked_mutex_expire", 300, SCALED_LEASE_S)
            self._scale_option("health_check_interval", 25, SCALED_TIMEOUT_S)
        elif self.conf.broker_heartbeat and self.conf.broker_heartbeat > LONG_S:
            self._scale_conf("broker_heartbeat", SCALED_HEARTBEAT_S)
        if self.backend == "redis" and self.conf.redis_socket_timeout and self.conf.redis_socket_timeout > LONG_S:
            self._scale_conf("redis_socket_timeout", float(SCALED_TIMEOUT_S))

    def source(self, name: str) -> str:
        """Where the value of a setting was read."""
        stated = name if self.conf.value_set_for(name) else "Celery's default of " + name
        return self.sources.get(name, stated)

    def _scale_conf(self, name: str, scaled: float) -> None:
        self.sources[name] = self.source(name)
        self.scaled[name] = (self.conf[name], scaled)
        self.conf[name] = scaled

    def _scale_option(self, name: str, default: float, scaled: float, *, above_s: float = LONG_S) -> None:
        stated = self.option(name, default)
        self.sources[name] = "broker_transport_options" if self.option(name) is not None else "kombu's default"
        if stated > above_s:
            self.scaled[name] = (stated, scaled)
            self.conf["broker_transport_options"] = {**(self.conf.broker_transport_options or {}), name: scaled}

    def _scale_retries(self) -> None:
        task, auto = self.task, self.autoretry
        kwargs = dict(auto.get("retry_kwargs") or {})
        if not auto.get("retry_backoff") and kwargs.get("countdown") is None:
            self.scaled["default_retry_delay"] = (task.default_retry_delay, SCALED_DELAY_S)
            task.default_retry_delay = SCALED_DELAY_S
            return
        changed: Dict[str, Any] = {"retry_backoff_max": SCALED_DELAY_S}
        self.scaled["retry_backoff_max"] = (auto["retry_backoff_max"], SCALED_DELAY_S)
        if not auto.get("retry_backoff"):
            changed = {"retry_kwargs": {**kwargs, "countdown": SCALED_DELAY_S}}
            self.scaled = {"countdown": (kwargs["countdown"], SCALED_DELAY_S)}
        task.run = task._orig_run
        del task._orig_run  # else Celery leaves the task as it is
        names = (
            "autoretry_for",
            "dont_autoretry_for",
            "retry_kwargs",
            "retry_backoff",
            "retry_backoff_max",
            "retry_jitter",
        )
        add_autoretry_behaviour(task, **{**{name: auto[name] for name in names}, **changed})

    def _stated_addresses(self) -> Iterator[Tuple[str, int]]:
        backend = self.app.backend_cls or self.conf.result_backend
        for url in [*self._urls(), *([backend] if self.backend == "redis" else [])]:
            parts = urlsplit(url)
            try:
                yield parts.hostname or "localhost", parts.port or PORTS.get(_scheme(url), 5672)
            except ValueError as error:
                raise UnusableApp("the port of " + parts.scheme + "://… is no number") from error
        if self.backend == "redis" and self.conf.redis_host:
            yield str(self.conf.redis_host), int(self.conf.redis_port or PORTS["redis"])

    def _set_url(self, name: str, url: str) -> None:
        self.conf[name] = url
        os.environ["CELERY_" + name.upper()] = url  # Celery reads it first

    def _turn_results(self, services: Mapping[str, Any]) -> None:
        url = _url("redis", services)
        self.app.backend_cls = None
        self.conf["result_backend"] = os.environ["CELERY_RESULT_BACKEND"] = url
        for name in ("host", "port", "db", "username", "password", "backend_use_ssl", "backend_credential_provider"):
            self.conf["redis_" + name] = None

    def _forget_connections(self) -> None:
        """What the app made before its addresses were turned is made anew."""
        self.app._pool = self.app._backend_cache = None
        self.app._local = threading.local()
        self.app.amqp._producer_pool = None


def _app_at(place: str) -> Any:
    app = tasklab_adapter.found(place)
    if isinstance(app, Celery):
        return app
    names = [name for name, value in vars(sys.modules[place.partition(":")[0]]).items() if isinstance(value, Celery)]
    near = "; its apps are " + ", ".join(sorted(names)) if names else ""
    raise UnusableApp(place + " is no app of Celery but a " + type(app).__name__ + near)


def _retries_by(task: Any) -> str:
    """What lets the task be retried: `autoretry_for`, a `retry` that its body calls (`self.retry`), or nothing (empty)."""
    if hasattr(task, "_orig_run"):
        return "autoretry_for"
    code = getattr(inspect.unwrap(task.run), "__code__", None)
    return "self.retry" if code is not None and "retry" in _names_in(code) else ""


def _names_in(code: Any) -> Set[str]:
    nested = [constant for constant in code.co_consts if inspect.iscode(constant)]
    return set(code.co_names).union(*map(_names_in, nested))


def _made(kind: Any, message: str) -> BaseException:
    try:
        made = kind(message)
    except Exception:  # noqa: BLE001 — the app's class wants other arguments, and may raise anything without them
        made = kind.__new__(kind, message)
    assert isinstance(made, BaseException), "autoretry_for holds classes of exceptions"
    return made


def _scheme(url: str) -> str:
    return url.partition(":")[0]


def _url(service: str, services: Mapping[str, Any]) -> str:
    address = services[service]
    if service == "redis":
        return "redis://%s:%d/0" % (address["host"], address["port"])
    user, password, vhost = (quote(str(address[name]), safe="") for name in ("user", "password", "vhost"))
    return "amqp://%s:%s@%s:%d/%s" % (user, password, address["host"], address["port"], vhost)


def _any_arguments(*_: Any, **__: Any) -> None:
    """In place of the check of a call against the signature of the body."""


def _in_worker() -> Any:
    turned = tasklab_adapter.turned_to()
    if turned is None:
        return None
    choice, services = turned
    adapted = App(choice)
    adapted.turn(services)
    adapted.put_handler_in()
    return adapted.app


app = _in_worker()
"""In a worker process of the lab: the app, turned to the lab's services."""
