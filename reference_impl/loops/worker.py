"""The worker: take a message, claim its task, run the handler outside any transaction, settle, and only then acknowledge."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog
from sqlalchemy import Connection, Engine

from reference_impl.attempt import Attempt
from reference_impl.errors import BrokerError, DatabaseError, PermanentFailure
from reference_impl.loops import lease
from reference_impl.loops.backoff import PATIENCE_S, Waiting
from reference_impl.loops.lease import HeldClaims
from reference_impl.metrics import Metrics
from reference_impl.ports import Broker, Cache, Consumer, Delivery, Handler, Runtime, Topology
from reference_impl.retry import Failure, RetryPolicy, classify, delay_s
from reference_impl.rows import settlement
from reference_impl.rows.settlement import Settled
from reference_impl.rows.store import document
from reference_impl.rows.transactions import transact
from reference_impl.task import Claim

log = structlog.get_logger()

_TASK_ID = re.compile(r"[!-~]{1,36}")
"""What fits its column. What the database's driver cannot even encode would end the worker, and the next one that gets the message."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker works; what each means is said in `settings.Settings`."""

    prefetch: int
    lease_s: float
    retry_policy: RetryPolicy
    result_bytes_max: int
    progress_expiry_s: float
    receive_s: float = 0.5


@dataclass(frozen=True, slots=True)
class Worker:
    """Everything that the slots of one worker process share."""

    runtime: Runtime
    engine: Engine
    broker: Broker
    cache: Cache
    handler_of: Callable[[str], Handler | None]
    held: HeldClaims
    metrics: Metrics
    topology: Topology
    options: WorkerOptions

    def run_slot(self) -> None:
        """Work through the queue, one task at a time, until it is time to end; a lost broker is waited for."""
        waiting = Waiting(self.runtime.stop, "worker waits for the broker")
        while not self.runtime.stop.requested:
            try:
                self.broker.declare(self.topology)  # a broker that was killed may have forgotten a young queue
                consumer = self.broker.open_consumer(self.topology.work_queue, prefetch=self.options.prefetch)
            except BrokerError as error:
                waiting.rest(error)
                continue
            waiting.is_over()
            try:
                self._consume(consumer)
            except BrokerError as error:
                log.warning("worker lost the broker", why=str(error))
                self.metrics.broker_connections_lost.inc()
                self.runtime.stop.wait(PATIENCE_S)
            finally:
                consumer.close()

    def _consume(self, consumer: Consumer) -> None:
        while not self.runtime.stop.requested:
            delivery = consumer.receive(timeout_s=self.options.receive_s)
            if delivery is not None:
                self.deal_with(consumer, delivery)

    def deal_with(self, consumer: Consumer, delivery: Delivery) -> None:
        """One message from its delivery to its acknowledgement, with whatever lies between.

        Raises:
            BrokerError: the consumer is no good any more; the message will come again.
        """
        if delivery.redelivered:
            self.metrics.redeliveries.inc()
        task_id = _task_id(delivery.body)
        if task_id is None:
            consumer.reject(delivery, requeue=False)  # no message of ours: to the dead letters, for a person to see
            return
        try:
            claim = self.take(task_id)
        except DatabaseError:
            consumer.reject(delivery, requeue=True)  # it is time to end, and the message is for somebody else
            return
        if claim is None:
            consumer.ack(delivery)  # it runs elsewhere, is ended, or is not due: whoever made it so sees to the rest
            return
        if self._run(claim):
            self.runtime.observer.acknowledging(claim)
            consumer.ack(delivery)  # last, and only now: before the outcome is durable, an ack loses the task if we die
        else:
            consumer.reject(delivery, requeue=True)

    def take(self, task_id: str) -> Claim | None:
        """A claim on the task, or None: tried until the database says which, or until it is time to end.

        The message is kept meanwhile. Given back, it would come again at once, and after as many times as the broker's delivery
        limit allows be buried with the dead letters: a database that is away for seconds would do that to whatever waits.
        A claim whose commit is unknown is not ours to use: if it was made, the next try finds the task taken, and its lease runs out.

        Raises:
            DatabaseError: it is time to end.
        """
        waiting = Waiting(self.runtime.stop, "worker waits for the database")
        while True:
            try:
                return lease.take(self.runtime, self.engine, task_id, lease_s=self.options.lease_s)
            except DatabaseError as error:
                if waiting.rest(error):
                    raise

    def _run(self, claim: Claim) -> bool:
        """Whether the attempt's outcome is durable, by us or by whoever took over."""
        self.held.add(claim)
        try:
            result, failure = self._call_handler(claim)
        finally:
            # From here on the lease is not renewed: what is left of it is for the settling, and a crash ends it soon.
            self.held.remove(claim)
        self.runtime.observer.claim_released(claim)
        return self._settle(claim, result, failure)

    def _call_handler(self, claim: Claim) -> tuple[Mapping[str, object] | None, Failure | None]:
        attempt = Attempt(claim, self.cache, self.runtime.entropy, self.options.progress_expiry_s)
        handler = self.handler_of(claim.task.type)
        try:
            if handler is None:
                raise PermanentFailure(f"no handler for tasks of type {claim.task.type!r}")
            result = handler(attempt)
            self._check_result(result)
        except (Exception, SystemExit) as error:  # noqa: BLE001 — the edge: what it raises ends its attempt, not us
            return None, classify(error)
        return result, None

    def _check_result(self, result: Mapping[str, object] | None) -> None:
        if result is None:
            return
        if not isinstance(result, dict):
            raise PermanentFailure("the handler's result is no JSON object")
        try:
            size = len(document(result))
        except (TypeError, ValueError) as error:
            raise PermanentFailure("the handler's result is no JSON document") from error
        if size > self.options.result_bytes_max:
            raise PermanentFailure(f"the handler's result has {size} bytes; at most {self.options.result_bytes_max}")

    def _settle(self, claim: Claim, result: Mapping[str, object] | None, failure: Failure | None) -> bool:
        """Tried until the database takes it or the lease has run out: then the attempt is somebody else's to end."""
        policy = self.options.retry_policy
        wait_s = 0.0 if failure is None else delay_s(claim.task.attempts_spent, policy, self.runtime.entropy)

        def work(connection: Connection) -> Settled:
            if failure is None:
                return self.settle_success(connection, claim, result)
            return self.settle_failure(connection, claim, failure, delay_s=wait_s)

        while True:
            try:
                settled = transact(self.engine, work)
            except DatabaseError:
                if self.runtime.clock.monotonic_s() > claim.held_until_s:
                    return False
                self.runtime.clock.sleep(PATIENCE_S)
            else:
                self.metrics.settled.labels(settled).inc()
                return True

    def settle_success(self, connection: Connection, claim: Claim, result: Mapping[str, object] | None) -> Settled:
        """The attempt did its work: what becomes of its task, in one transaction, which may be tried again."""
        return settlement.settle_success(connection, claim, result)

    def settle_failure(self, connection: Connection, claim: Claim, failure: Failure, *, delay_s: float) -> Settled:
        """The attempt failed: what becomes of its task, in one transaction, which may be tried again."""
        return settlement.settle_failure(
            connection,
            claim,
            failure,
            attempts_max=self.options.retry_policy.attempts_max,
            delay_s=delay_s,
            work_queue=self.topology.work_queue,
            dead_queue=self.topology.dead_queue,
        )


def _task_id(body: bytes) -> str | None:
    """The task that the message names; None if no system of ours can have sent it."""
    try:
        task_id = json.loads(body)["task_id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return task_id if isinstance(task_id, str) and _TASK_ID.fullmatch(task_id) else None
