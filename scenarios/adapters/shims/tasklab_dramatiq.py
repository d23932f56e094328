"""Dramatiq as a system under test: workers by its own command, and clients that send messages as the app does.

Runs in the client process, in the user's Python, from 3.8 on.
"""

import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import dramatiq
import tasklab_adapter
import tasklab_body
from tasklab_adapter import Choice
from tasklab_dramatiq_app import App
from tasklab_plugin import Outcome, Pace, Policy, ProcessSpec, ReadStatus, Submit

CLAIMS = ("no_lost_task", "no_stuck_task", "no_phantom_task", "duplicates_explained")
WORKER = "import sys; sys.path.pop(0); %sfrom dramatiq.cli import main; sys.exit(main())"
WORKER_COMMANDS = {
    "dramatiq": WORKER % "",
    "dramatiq-gevent": WORKER % "from gevent import monkey; monkey.patch_all(); ",
}
"""The scripts of Dramatiq. `python -m` would search the present directory before the standard library."""
IDLE_S = 4.0
"""Longest rest of a worker that has work, without retries and leases."""
BUDGET_S = 30.0
PEEKED_MAX = 1_000
UNCONFIRMED = (
    "without confirm_delivery a send does not wait for RabbitMQ's confirmation, so what dies with the connection is not noticed: "
    "https://dramatiq.io/reference.html#dramatiq.brokers.rabbitmq.RabbitmqBroker"
)
NOT_FOUND = 404
"""The reply code of RabbitMQ for a queue that was never declared, such as that of dead letters."""


class Dramatiq:
    """An app of Dramatiq, as it is configured."""

    name = "dramatiq"

    def __init__(self, app: App) -> None:
        self._app = app
        choice = app.choice
        self.needs = {app.service, *(["redis"] if app.stores_results else [])}
        self.claims = set(choice.claims or (*CLAIMS, *(["outcome_reported"] if app.stores_results else [])))
        self.capabilities = {"submit", "pool", *(["status"] if app.stores_results else [])}
        self.capabilities |= tasklab_body.capabilities(app.own, app.stores_results)
        delays_s = app.delays_s()
        longest_s = max((most for _, most in delays_s or ()), default=0.0)
        lease_s = app.lease_s()
        self.pace = Pace(quiet_s=IDLE_S + longest_s + (lease_s or 0.0) * 2, lease_s=lease_s)
        self.policy = Policy(
            attempts_max=app.attempts_max(),
            delays_s=delays_s,
            permanent_errors=() if app.own is None else ("permanent",),
            budget_s=BUDGET_S + 2 * (lease_s or 0.0) + sum(most for _, most in delays_s or ()),
        )
        self.facts = app.facts()
        sends_blindly = app.service == "rabbitmq" and not app.broker.confirm_delivery
        self.documented = {"no_lost_task": UNCONFIRMED} if sends_blindly else {}
        self.versions = tasklab_adapter.versions("dramatiq", "pika", "redis")

    def processes(self, services: Any, handlers: Any) -> List[ProcessSpec]:
        """Workers of one process and four threads each, by the script `dramatiq`, if the arguments of the user say nothing else."""
        argv = [
            sys.executable,
            "-c",
            WORKER_COMMANDS[self._app.command],
            "tasklab_dramatiq_app:broker",
            "--processes",
            "1",
            "--threads",
            "4",
        ]
        argv += self._app.worker_arguments
        return [
            ProcessSpec(name, "worker", argv, self._environment(services, handlers, name), Path.cwd())
            for name in tasklab_adapter.worker_names(self._app.choice)
        ]

    def client(self, services: Any) -> "DramatiqClient":
        """A client that sends by the actor itself."""
        addresses = tasklab_adapter.addresses(services)
        self._app.turn(addresses)
        return DramatiqClient(self._app, tasklab_adapter.ClientBroker(addresses[self._app.service]))

    def dump(self, services: Any) -> Dict[str, str]:
        """The queue in which a message of a task lies: read without taking it away."""
        self._app.turn(tasklab_adapter.addresses(services))
        return dict(self._peeked()) if self._app.service == "rabbitmq" else dict(self._read_hashes())

    def _environment(self, services: Any, handlers: Any, name: str) -> Any:
        addresses = tasklab_adapter.addresses(services.as_seen_by(name))
        return tasklab_adapter.environment_for(self._app.choice, addresses, handlers.environment_of(name))

    def _queues(self) -> List[str]:
        queue = self._app.actor.queue_name
        return [queue, queue + ".DQ", queue + ".XQ"]

    def _peeked(self) -> Iterator[Tuple[str, str]]:
        import pika

        for queue in self._queues():
            connection = pika.BlockingConnection(self._app.broker.parameters)
            try:  # what is fetched and not acknowledged goes back when the connection closes
                channel = connection.channel()
                for _ in range(PEEKED_MAX):
                    method, _, body = channel.basic_get(queue)
                    if method is None:
                        break
                    yield _task_in(body), "the queue " + queue
            except pika.exceptions.ChannelClosedByBroker as error:
                if error.reply_code != NOT_FOUND:
                    raise
            finally:
                connection.close()

    def _read_hashes(self) -> Iterator[Tuple[str, str]]:
        broker = self._app.broker
        for queue in self._queues():
            key = broker.namespace + ":" + queue + ".msgs"
            for _, body in broker.client.hscan_iter(key):
                yield _task_in(body), "the hash " + key


class DramatiqClient:
    """Sends messages, and reads results where the app stores them. One thread, one connection."""

    def __init__(self, app: App, broker: tasklab_adapter.ClientBroker) -> None:
        self._app = app
        self._broker = broker

    def invoke(self, operation: Any) -> Outcome:
        """Send a message, or read the result of one."""
        if isinstance(operation, Submit):
            return self._send(operation)
        if isinstance(operation, ReadStatus):
            return self._read(operation)
        return Outcome("fail", detail="Dramatiq has no " + type(operation).__name__)

    def _send(self, submit: Submit) -> Outcome:
        if self._broker.refuses():
            return Outcome("fail", detail="the broker accepts no connection")
        try:
            message = self._app.actor.send(tasklab_body.sent(self._app.own, submit.payload))
        except Exception as error:  # noqa: BLE001 — whatever the app's middleware raises: the message may have been sent
            self._broker.has_failed = True
            return Outcome("info", detail=repr(error))
        return Outcome("ok", id=message.message_id)

    def _read(self, read: ReadStatus) -> Outcome:
        message = self._app.actor.message({"task": read.task}).copy(message_id=read.id)
        try:
            returned = message.get_result(backend=self._app.results.backend, block=False)
        except dramatiq.results.ResultMissing:
            return Outcome("ok", state="PENDING")
        except dramatiq.results.ResultFailure:
            return Outcome("ok", state="DEAD")
        except Exception as error:  # noqa: BLE001 — whatever the backend raises
            return Outcome("info", detail=repr(error))
        result = (returned or {}).get("result") if self._app.own is None else None
        return Outcome("ok", state="SUCCEEDED", result=result)

    def close(self) -> None:
        """Close the connection of this thread."""
        if self._app.service == "rabbitmq":
            del self._app.broker.connection


def _task_in(body: bytes) -> str:
    return str(dramatiq.Message.decode(body).args[0]["task"])


def adapted(**stated: Any) -> Any:
    """The system of a `Choice` with these fields. Raises UnusableApp."""
    return tasklab_adapter.read_by_adapter("dramatiq", Choice(**stated), lambda choice: Dramatiq(App(choice)))
