"""The worker: receive a message, claim its task, run the handler outside any transaction, settle, and only then acknowledge."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from reference_impl.attempt import Attempt
from reference_impl.errors import DatabaseError, PermanentFailure
from reference_impl.extensions import Handler
from reference_impl.loops.backoff import RETRY_DELAY_S, Backoff
from reference_impl.loops.claiming import claim_task
from reference_impl.loops.heartbeat import HeldClaims
from reference_impl.loops.reconnection import run_reconnecting
from reference_impl.metrics import Metrics
from reference_impl.ports import Broker, Cache, Consumer, Delivery, Topology
from reference_impl.retry import Failure, RetryPolicy, classify, delay_s
from reference_impl.rows import settlement
from reference_impl.rows.document import document
from reference_impl.rows.settlement import Settled
from reference_impl.rows.transactions import transact
from reference_impl.runtime import Runtime
from reference_impl.task import Claim

_TASK_ID = re.compile(r"[!-~]{1,36}")
"""Valid task ids (column width, printable ASCII). Anything else could make the driver raise and crash every worker that gets it."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Settings of a worker; `settings.Settings` explains each."""

    prefetch: int
    lease_s: float
    retry_policy: RetryPolicy
    result_bytes_max: int
    progress_expiry_s: float
    receive_s: float = 0.5


@dataclass(frozen=True, slots=True)
class Worker:
    """The state shared by all slots of one worker process."""

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
        """Handle one task at a time until shutdown is requested; reconnect when the broker fails."""
        run_reconnecting(self.runtime.shutdown, self.metrics, "worker", self._open_consumer, self._consume)

    def _open_consumer(self) -> Consumer:
        self.broker.declare(self.topology)  # a broker that was killed may have forgotten a new queue
        return self.broker.open_consumer(self.topology.work_queue, prefetch=self.options.prefetch)

    def _consume(self, consumer: Consumer) -> None:
        while not self.runtime.shutdown.requested:
            delivery = consumer.receive(timeout_s=self.options.receive_s)
            if delivery is not None:
                self.handle_delivery(consumer, delivery)

    def handle_delivery(self, consumer: Consumer, delivery: Delivery) -> None:
        """Process one message: claim its task, run the attempt, settle it, acknowledge the message.

        Raises:
            BrokerError: the consumer is broken; the message will be redelivered.
        """
        if delivery.redelivered:
            self.metrics.redeliveries.inc()
        task_id = _task_id(delivery.body)
        if task_id is None:
            consumer.reject(delivery, requeue=False)  # not a message of this system: dead-letter it for an operator
            return
        try:
            claim = self.claim_task(task_id)
        except DatabaseError:
            consumer.reject(delivery, requeue=True)  # shutting down: another worker gets the message
            return
        if claim is None:
            consumer.ack(
                delivery
            )  # running elsewhere, ended, or not due: another message or the rescuer takes care of it
            return
        if self._run(claim):
            self.runtime.observer.acknowledging(claim)
            consumer.ack(
                delivery
            )  # last: an ack before the outcome is durable would lose the task if this process died
        else:
            consumer.reject(delivery, requeue=True)

    def claim_task(self, task_id: str) -> Claim | None:
        """A claim on the task, or None (as `claiming.claim_task`); retried until the database answers.

        The message is kept meanwhile. If it were returned, the broker would deliver it again at once and, after reaching its delivery
        limit, dead-letter it: a database outage of seconds would do that to every waiting message.
        A claim whose commit is unknown is not used: if it was committed, the next try finds the task claimed, and its lease expires.

        Raises:
            DatabaseError: shutdown was requested before the database answered.
        """
        backoff = Backoff(self.runtime.shutdown, "worker waits for the database")
        while True:
            try:
                return claim_task(self.runtime, self.engine, task_id, lease_s=self.options.lease_s)
            except DatabaseError as error:
                if backoff.wait(error):
                    raise

    def _run(self, claim: Claim) -> bool:
        """Run and settle the attempt. Whether the outcome of the task is durable, written by this attempt or by a later one."""
        self.held.add(claim)
        try:
            result, failure = self._call_handler(claim)
        finally:
            # No renewal from here on: settling must fit into the rest of the lease, and after a crash the lease expires soon.
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
        except (Exception, SystemExit) as error:  # noqa: BLE001 — edge to user code: an exception ends the attempt, not the worker
            return None, classify(error)
        return result, None

    def _check_result(self, result: Mapping[str, object] | None) -> None:
        if result is None:
            return
        if not isinstance(result, dict):
            raise PermanentFailure("the handler's result is not a JSON object")
        try:
            size = len(document(result))
        except (TypeError, ValueError) as error:
            raise PermanentFailure("the handler's result is not a JSON document") from error
        if size > self.options.result_bytes_max:
            raise PermanentFailure(f"the handler's result has {size} bytes; at most {self.options.result_bytes_max}")

    def _settle(self, claim: Claim, result: Mapping[str, object] | None, failure: Failure | None) -> bool:
        """Settle, retrying until the database commits (True) or the lease has expired (False): then another process settles the attempt."""
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
                self.runtime.clock.sleep(RETRY_DELAY_S)
            else:
                self.metrics.settled.labels(settled).inc()
                return True

    def settle_success(self, connection: Connection, claim: Claim, result: Mapping[str, object] | None) -> Settled:
        """Settle a successful attempt, in one transaction that may be retried."""
        return settlement.settle_success(connection, claim, result)

    def settle_failure(self, connection: Connection, claim: Claim, failure: Failure, *, delay_s: float) -> Settled:
        """Settle a failed attempt, in one transaction that may be retried."""
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
    """The task id in the message; None if the message cannot come from this system."""
    try:
        task_id = json.loads(body)["task_id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return task_id if isinstance(task_id, str) and _TASK_ID.fullmatch(task_id) else None
