"""An app of Dramatiq in the lab: its broker is turned to the lab's services, the body of its actor replaced by the lab's handler.

Imported by the client process, and by the library's own worker command: `python -m dramatiq tasklab_dramatiq_app:broker`. Besides
the standard library and the other shims it imports Dramatiq only, from Python 3.8 on.
"""

import contextlib
import importlib.util
import io
import threading
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import dramatiq
import tasklab_adapter
import tasklab_guard
from dramatiq import cli
from dramatiq.middleware import Middleware
from tasklab_adapter import LONG_S, Choice, Fact, UnusableApp, seconds
from tasklab_body import OwnBody

DEFAULT_RETRIES = 20
DRAWS = tuple((first, second) for first in (0, 1) for second in (0, 1))
"""The ends of the two chances that a backoff has: its jitter, and a second one where the first exceeds the maximum."""
SCALED_MIN_MS = 300
SCALED_MAX_MS = 1_000
SCALED_HEARTBEAT_MS = 4_000
SCALED_HEARTBEAT_S = 2
BROKERS_HEARTBEAT_S = 60
"""What RabbitMQ asks for if the client states none."""
SCALED_MAINTENANCE = 500_000
"""Of a million commands to Redis: the lab sends few of them, and would wait for minutes until a dead worker's messages are put back."""


class App:
    """The actor at a place, its broker and its settings in effect. Nothing is connected."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        actor = tasklab_adapter.found(choice.place)
        if not isinstance(actor, dramatiq.Actor):
            raise UnusableApp(
                choice.place + " is no actor of Dramatiq but " + tasklab_adapter.a(actor) + _actors_near(choice.place)
            )
        self.actor = actor
        self.own = OwnBody(choice, actor.fn) if choice.keep_body else None
        """The actor's own code, if it stays."""
        self.command, self.worker_arguments = _command(choice.worker_arguments)
        _check_workers(self.command, self.worker_arguments, actor.queue_name)
        self.broker = actor.broker
        self.service = _service_of(self.broker)
        self.results = _middleware(self.broker, "Results")
        if self.results is not None and type(self.results.backend).__name__ not in ("RedisBackend", "StubBackend"):
            raise UnusableApp(
                "the results of "
                + choice.place
                + " are kept in "
                + tasklab_adapter.a(self.results.backend)
                + ", which the lab does not offer"
            )
        for client in self._redis_clients():
            tasklab_adapter.check_redis(client)
        self.scaled: Dict[str, Tuple[float, float]] = {}
        if not choice.unscaled:
            self._scale()

    @property
    def stores_results(self) -> bool:
        """Whether a client can read how a task ended."""
        return self.results is not None and bool(self.option("store_results", self.results.store_results))

    def option(self, name: str, default: Any) -> Any:
        """An option of the actor, or that of the middleware Retries, or the default."""
        retries = _middleware(self.broker, "Retries")
        return self.actor.options.get(name, getattr(retries, name, default))

    def attempts_max(self) -> Optional[int]:
        """The number of executions of a task that always fails; None: a predicate of the app decides, or there is no limit."""
        if _middleware(self.broker, "Retries") is None:
            return 1
        retries = self.option("max_retries", DEFAULT_RETRIES)
        return None if retries is None or self.option("retry_when", None) is not None else int(retries) + 1

    def delays_s(self) -> Optional[List[Tuple[float, float]]]:
        """[least, most] seconds before each retry, as the installed `compute_backoff` draws them at the ends of its chances."""
        attempts = self.attempts_max()
        if attempts is None:
            return None
        drawn = [[self._delay_ms(retry, ends) / 1000 for ends in DRAWS] for retry in range(attempts - 1)]
        return [(min(delays), max(delays)) for delays in drawn]

    def _delay_ms(self, retry: int, ends: Sequence[int]) -> float:
        """`ends`: 0 or 1 for each draw, its lowest or highest value."""
        module, uniform, left = dramatiq.common, dramatiq.common.uniform, list(ends)
        factor, most = self.option("min_backoff", 15_000), self.option("max_backoff", 86_400_000 * 7)
        try:
            module.uniform = lambda *bounds: bounds[left.pop(0)]
            return float(module.compute_backoff(retry, factor=factor, max_backoff=most)[1])
        finally:
            module.uniform = uniform

    def lease_s(self) -> Optional[float]:
        """How long a worker that stands still keeps its messages."""
        if self.service == "redis":
            return float(self.broker.heartbeat_timeout) / 1000
        return 2.0 * self._heartbeat_s()

    def _heartbeat_s(self) -> float:
        stated = _parameters(self.broker)[0].heartbeat
        return float(BROKERS_HEARTBEAT_S if stated is None else stated)

    def facts(self) -> Tuple[Fact, ...]:
        """The settings that decide what a test expects."""
        return (
            Fact("broker", self.service, tasklab_adapter.a(self.broker), "the service that the lab starts and strikes"),
            Fact("queue", self.actor.queue_name, "actor.queue_name", "tasks are sent to it, as the app sends them"),
            self._fact("max_retries", "executions of a task that always fails, less one"),
            self._fact("min_backoff", "milliseconds before the first retry; each further one waits twice as long"),
            self._fact("max_backoff", "milliseconds before a retry, at most"),
            *self._facts_of_broker(),
            Fact(
                "results",
                "stored" if self.stores_results else "not stored",
                "store_results of the middleware Results",
                "outcome_reported is tested" if self.stores_results else "a client cannot read how a task ended",
            ),
        )

    def turn(self, services: Mapping[str, Any]) -> None:
        """Point broker and results at the lab's services. `services`: by name the address with host, port and what it needs to log in."""
        tasklab_guard.allow(services)
        if self.service == "rabbitmq":
            self._turn_rabbitmq(services["rabbitmq"])
        for client in self._redis_clients():
            tasklab_adapter.turn_redis(client, services["redis"])

    def _redis_clients(self) -> Iterator[Any]:
        if self.service == "redis":
            yield self.broker.client
        if self.results is not None and type(self.results.backend).__name__ == "RedisBackend":
            yield self.results.backend.client

    def put_handler_in(self) -> None:
        """Replace the body of the actor by the lab's handler, which may call it; its options, queue and middleware stay."""
        import tasklab_probe  # on the path of worker processes only

        noted = Noted()
        self.broker.add_middleware(noted)
        own, hands_back = self.own, self.stores_results

        def handler(payload: Mapping[str, Any]) -> Any:
            message = noted.present
            attempt = message.options.get("retries", 0) + 1
            if own is not None:
                return own.run(payload, attempt=attempt, is_final=self._is_final)
            returned = tasklab_probe.run_task(payload, attempt=attempt, key=message.message_id)
            return returned if hands_back else None

        self.actor.fn = handler

    def _is_final(self, error: BaseException) -> bool:
        """Whether an actor that raised this is not run again: by its `throws`, or without retries."""
        thrown = self.option("throws", None)
        return self.attempts_max() == 1 or (thrown is not None and isinstance(error, thrown))

    def _scale(self) -> None:
        for name, default, scaled in (
            ("min_backoff", 15_000, SCALED_MIN_MS),
            ("max_backoff", 86_400_000 * 7, SCALED_MAX_MS),
        ):
            self._scale_one(name, self.option(name, default), scaled, self.actor.options)
        if self.service == "redis" and self.broker.heartbeat_timeout > 1000 * LONG_S:
            settings = vars(self.broker)
            self._scale_one("heartbeat_timeout", self.broker.heartbeat_timeout, SCALED_HEARTBEAT_MS, settings)
            self.scaled["maintenance_chance"] = (self.broker.maintenance_chance, SCALED_MAINTENANCE)
            self.broker.maintenance_chance = SCALED_MAINTENANCE
        if self.service == "rabbitmq" and self._heartbeat_s() > LONG_S:
            self.scaled["heartbeat"] = (self._heartbeat_s(), SCALED_HEARTBEAT_S)
            for parameters in _parameters(self.broker):
                parameters.heartbeat = SCALED_HEARTBEAT_S

    def _scale_one(self, name: str, value_ms: float, scaled_ms: float, settings: Dict[str, Any]) -> None:
        if value_ms > 1000 * LONG_S:
            self.scaled[name] = (value_ms, scaled_ms)
            settings[name] = scaled_ms

    def _facts_of_broker(self) -> Tuple[Fact, ...]:
        if self.service == "redis":
            return (
                self._fact(
                    "heartbeat_timeout", "milliseconds after which a silent worker's messages are put back", self.broker
                ),
                self._fact(
                    "maintenance_chance", "of a million commands: how many look for silent workers", self.broker
                ),
            )
        confirms = "confirmed" if self.broker.confirm_delivery else "not confirmed"
        now, scaled = self.scaled.get("heartbeat", (self._heartbeat_s(), None))
        return (
            Fact("confirm_delivery", confirms, "broker.confirm_delivery", "whether a send that was lost is noticed"),
            Fact(
                "heartbeat",
                seconds(now),
                "broker.parameters, or RabbitMQ's default",
                "after twice this time RabbitMQ gives up a silent worker, and delivers its messages again",
                None if scaled is None else seconds(scaled),
            ),
        )

    def _fact(self, name: str, means: str, owner: Any = None) -> Fact:
        value = getattr(owner, name) if owner is not None else self.option(name, None)
        source = "broker." + name if owner is not None else _source(self, name)
        if name in self.scaled:
            value, scaled = self.scaled[name]
            return Fact(name, "%g" % value, source, means, "%g" % scaled)
        return Fact(name, str(value), source, means)

    def _turn_rabbitmq(self, address: Mapping[str, Any]) -> None:
        import pika

        credentials = pika.PlainCredentials(address["user"], address["password"])
        for parameters in _parameters(self.broker):
            parameters.host, parameters.port = address["host"], address["port"]
            parameters.virtual_host, parameters.credentials = address["vhost"], credentials
            parameters.ssl_options = None


class Noted(Middleware):  # type: ignore[misc]  # Dramatiq is not installed where types are checked
    """Keeps the message that this thread processes."""

    def __init__(self) -> None:
        self._local = threading.local()

    @property
    def present(self) -> Any:
        """The message in the hands of this thread."""
        return self._local.message

    def before_process_message(self, broker: Any, message: Any) -> None:
        """Called by Dramatiq in the thread that will run the actor."""
        self._local.message = message


def _service_of(broker: Any) -> str:
    for name, service in (("RabbitmqBroker", "rabbitmq"), ("RedisBroker", "redis")):
        if any(kind.__name__ == name for kind in type(broker).__mro__):
            return service
    raise UnusableApp(
        "its broker is "
        + tasklab_adapter.a(broker)
        + "; the lab can turn a RabbitmqBroker or a RedisBroker to its own services"
    )


def _command(stated: Sequence[str]) -> Tuple[str, List[str]]:
    """The script that runs the workers, and its arguments: `--worker "dramatiq-gevent --threads 100"` names the other script."""
    for name in ("dramatiq-gevent", "dramatiq"):
        if stated and stated[0] == name:
            return name, list(stated[1:])
    return "dramatiq", list(stated)


def _check_workers(command: str, arguments: Sequence[str], queue: str) -> None:
    """Raise UnusableApp for arguments with which the installed command starts no worker of this queue."""
    if command == "dramatiq-gevent" and importlib.util.find_spec("gevent") is None:
        raise UnusableApp("dramatiq-gevent needs gevent, which this Python does not have")
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            parsed = cli.make_argument_parser().parse_args(["tasklab_dramatiq_app:broker", *arguments])
    except SystemExit as error:
        last = said.getvalue().strip().split("\n")[-1]
        raise UnusableApp(command + " does not take these arguments: " + last) from error
    if parsed.queues and queue not in parsed.queues:
        taken = ", ".join(parsed.queues)
        raise UnusableApp("no worker takes messages of the queue %r of the actor: they take %s" % (queue, taken))


def _parameters(broker: Any) -> List[Any]:
    stated = broker.parameters
    return list(stated) if isinstance(stated, (list, tuple)) else [stated]


def _middleware(broker: Any, name: str) -> Any:
    return next((one for one in broker.middleware if any(kind.__name__ == name for kind in type(one).__mro__)), None)


def _source(app: App, name: str) -> str:
    if name in app.actor.options and name not in app.scaled:
        return "actor.options"
    return "the middleware Retries" if hasattr(_middleware(app.broker, "Retries"), name) else "Dramatiq's default"


def _actors_near(place: str) -> str:
    import sys

    module = sys.modules[place.partition(":")[0]]
    names = [name for name, value in vars(module).items() if isinstance(value, dramatiq.Actor)]
    return "; its actors are " + ", ".join(sorted(names)) if names else ""


def _broker() -> Any:
    app = tasklab_adapter.prepared(App)
    if app is None:
        return None
    app.put_handler_in()
    return app.broker


broker = _broker()
"""In a worker process of the lab: the app's broker, turned to the lab's services."""
