"""An app of Celery in the lab: its broker and results are turned to the lab's services, the body of its task replaced by the lab's handler.

Imported by the client process, and by the library's own worker command: `python -m celery -A tasklab_celery_app:app worker`. Besides
the standard library and the other shims it imports Celery and its kombu only, from Python 3.8 on.
"""

import os
import sys
import threading
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple
from urllib.parse import quote

import tasklab_adapter
import tasklab_guard
from celery import Celery
from celery.signals import task_received
from tasklab_adapter import LONG_S, Choice, UnusableApp
from tasklab_body import OwnBody
from tasklab_celery_options import CeleryWorkerOptions
from tasklab_celery_retries import CeleryRetries

BROKERS: Mapping[str, str] = {
    **dict.fromkeys(("amqp", "amqps", "pyamqp", "librabbitmq"), "rabbitmq"),
    **dict.fromkeys(("redis", "rediss", "redis+socket"), "redis"),
}
PORTS = {"amqps": 5671, "redis": 6379, "rediss": 6379}
BROKER_URLS = ("broker_url", "broker_read_url", "broker_write_url")
READ_FIRST = (*BROKER_URLS, "result_backend")
"""Settings that Celery reads from a variable first."""
LOGIN_OPTIONS = ("host", "hostname", "port", "userid", "password", "virtual_host", "ssl", "login_method")
SCALED_LEASE_S = 4
LEASE_SLACK_S = 0.1
"""How much later than on Redis a lease may be recorded as begun."""
SCALED_SWEEP_S = 1
SCALED_LOST_S = 1.0
SCALED_TIMEOUT_S = 5
SCALED_HEARTBEAT_S = 4
RABBITMQS_HEARTBEAT_S = 60.0
"""What RabbitMQ proposes: the smaller one is agreed on."""
ON_REDIS = {
    "visibility_timeout": 3600,
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 10,
    "unacked_mutex_expire": 300,
    "health_check_interval": 25,
}
"""Options of kombu's Redis transport and their defaults: seconds, and each how-manieth look after expired messages is done."""


class CeleryApp:
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
        self._refuse_eager_tasks()
        self.options = CeleryWorkerOptions(choice, self.app)
        self.options.check_queue(self.queue)
        self.retries = CeleryRetries(self.task)
        self.own = OwnBody(choice, self.retries.body) if choice.keep_body else None
        """The task's own code, if it stays."""
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

    def option(self, name: str, default: Any = None) -> Any:
        """A transport option of the broker."""
        return (self.conf.broker_transport_options or {}).get(name, default)

    def lease_s(self) -> Optional[float]:
        """How long a worker that stands still keeps the tasks that it runs; None: for ever, or they are acknowledged already."""
        if not self.task.acks_late:
            return None
        return self.message_lease_s()

    def message_lease_s(self) -> Optional[float]:
        """How long a worker that stands still keeps the messages that it has not acknowledged; None: for ever."""
        if self.broker == "redis":
            return float(self.option("visibility_timeout", ON_REDIS["visibility_timeout"]))
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
        interval_s, throttle = (self.option("unacked_restore_" + name, 10) for name in ("interval", "throttle"))
        return float(interval_s * (throttle or 1))

    def turn(self, services: Mapping[str, Any]) -> None:
        """Point broker and results at the lab's services. `services`: by name the address with host, port and what it needs to log in."""
        with self._turning:
            if services == self._turned:
                return
            tasklab_guard.allow(services)
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
        """Replace the body of the task by the lab's handler, which may call it; its options, retries and hooks stay."""
        import tasklab_probe  # on the path of worker processes only

        task, retries, own, hands_back = self.task, self.retries, self.own, self.stores_results

        def handler(payload: Mapping[str, Any]) -> Any:
            request = task.request
            if own is not None:
                return own.run(payload, attempt=request.retries + 1, is_final=retries.is_final)
            try:
                returned = tasklab_probe.run_task(payload, attempt=request.retries + 1, key=request.id)
            except tasklab_probe.TaskError as error:
                retries.fail(str(error), is_permanent=error.kind == "permanent")
            return returned if hands_back else None

        retries.install_body(handler)
        if self.broker == "redis" and task.acks_late:
            self._record_leases(tasklab_probe)

    def _record_leases(self, probe: Any) -> None:
        """Record that this worker holds a message from its delivery to its acknowledgement, for the visibility timeout at most."""
        ttl_s = float(self.message_lease_s() or 0.0) - LEASE_SLACK_S

        def received(request: Any, **_: Any) -> None:
            arguments = request.info()["args"]
            if request.task.name != self.task.name or not arguments:
                return
            lease, acknowledge = probe.lease(str(arguments[0]["task"]), ttl_s=ttl_s), request._on_ack

            def acknowledged(*reported: Any) -> None:
                lease.released()
                acknowledge(*reported)

            lease.acquired()
            request._on_ack = acknowledged

        task_received.connect(received, weak=False)

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

    def _refuse_eager_tasks(self) -> None:
        if self.conf.task_always_eager:
            raise UnusableApp(
                "task_always_eager is set: tasks would run where they are sent, and no worker would be tested"
            )

    def _scale(self) -> None:
        self.scaled.update(self.retries.scale())
        if self.broker == "redis":
            self._scale_redis()
        elif self.conf.broker_heartbeat and self.conf.broker_heartbeat > LONG_S:
            self._scale_conf("broker_heartbeat", SCALED_HEARTBEAT_S)
        if self.backend == "redis" and self.conf.redis_socket_timeout and self.conf.redis_socket_timeout > LONG_S:
            self._scale_conf("redis_socket_timeout", float(SCALED_TIMEOUT_S))

    def source(self, name: str) -> str:
        """Where the value of a setting was read."""
        if name in self.sources:
            return self.sources[name]
        if name in ON_REDIS:
            return "kombu's default" if self.option(name) is None else "broker_transport_options"
        if name in READ_FIRST and os.environ.get("CELERY_" + name.upper()):
            return "the variable CELERY_" + name.upper()
        return name if self.conf.value_set_for(name) else "Celery's default"

    def _scale_redis(self) -> None:
        # A message that waits for its retry is held unacknowledged: it must not be delivered again meanwhile.
        self._scale_option("visibility_timeout", max(SCALED_LEASE_S, round(self.retries.longest_s()) + 3))
        if "visibility_timeout" in self.scaled and self.conf.worker_lost_wait > SCALED_LOST_S:
            # Else a message is delivered again before its worker has given up the process that died with it.
            self._scale_conf("worker_lost_wait", SCALED_LOST_S)
        if self.sweep_s() > LONG_S:
            for name in ("unacked_restore_interval", "unacked_restore_throttle"):
                self._scale_option(name, SCALED_SWEEP_S, above_s=SCALED_SWEEP_S)
        self._scale_option("unacked_mutex_expire", SCALED_LEASE_S)
        self._scale_option("health_check_interval", SCALED_TIMEOUT_S)

    def _scale_conf(self, name: str, scaled: float) -> None:
        self.sources[name] = self.source(name)
        self.scaled[name] = (self.conf[name], scaled)
        self.conf[name] = scaled

    def _scale_option(self, name: str, scaled: float, *, above_s: float = LONG_S) -> None:
        stated = self.option(name, ON_REDIS[name])
        if stated > above_s:
            self.sources[name] = self.source(name)
            self.scaled[name] = (stated, scaled)
            self.conf["broker_transport_options"] = {**(self.conf.broker_transport_options or {}), name: scaled}

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


def _app() -> Any:
    adapted = tasklab_adapter.prepared(CeleryApp)
    if adapted is None:
        return None
    adapted.put_handler_in()
    return adapted.app


app = _app()
"""In a worker process of the lab: the app, turned to the lab's services."""
