"""The outbox relay: publish pending rows, wait for the confirms, and only then mark the rows sent (R13)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from reference_impl.errors import BrokerConnectionLost, BrokerError, BrokerUnavailable, DatabaseError
from reference_impl.loops.backoff import Backoff
from reference_impl.loops.reconnection import run_reconnecting
from reference_impl.metrics import Metrics
from reference_impl.ports import Broker, Message, Publisher, PublishOutcome, Topology
from reference_impl.rows import outbox
from reference_impl.rows.outbox import OutboxRow
from reference_impl.rows.transactions import transact
from reference_impl.runtime import Runtime

UNROUTABLE_DELAY_S = 2.0
"""How long a message that the broker refuses is postponed, so that it does not hold up the others."""


@dataclass(frozen=True, slots=True)
class OutboxRelay:
    """One of any number of relays. A crash at any point costs at most a message that is published twice."""

    runtime: Runtime
    engine: Engine
    broker: Broker
    metrics: Metrics
    topology: Topology
    rows_max: int
    claim_s: float
    confirm_timeout_s: float
    idle_s: float

    def run(self) -> None:
        """Publish until shutdown is requested; reconnect when the broker or the database fails."""
        run_reconnecting(self.runtime.shutdown, self.metrics, "relay", self._open_publisher, self._publish_with)

    def _open_publisher(self) -> Publisher:
        self.broker.declare(self.topology)  # a broker that was killed may have forgotten a new queue
        return self.broker.open_publisher()

    def _publish_with(self, publisher: Publisher) -> None:
        shutdown = self.runtime.shutdown
        backoff = Backoff(shutdown, "relay waits for the database")
        while not shutdown.requested:
            try:
                published = self.publish_batch(publisher)
            except DatabaseError as error:
                backoff.wait(error)
                continue
            backoff.reset()
            if published == 0:
                shutdown.wait(self.idle_s)

    def publish_batch(self, publisher: Publisher) -> int:
        """Publish one batch of due rows; return its size. Confirmed rows are marked sent, the others released.

        Raises:
            BrokerError: not every message was confirmed: the connection is unreliable, or a queue is missing or full. Reconnect.
            DatabaseError: as `transact`; rows that were not marked are published again when their claim has expired.
        """
        claim = self.runtime.entropy.identifier()
        rows = transact(
            self.engine,
            lambda connection: outbox.claim_batch(connection, claim, rows_max=self.rows_max, claim_s=self.claim_s),
        )
        if not rows:
            return 0
        try:
            outcomes = publisher.publish([_message(row) for row in rows], timeout_s=self.confirm_timeout_s)
        except BrokerError:
            transact(self.engine, lambda connection: outbox.release(connection, claim, [row.id for row in rows]))
            raise
        for outcome, count in Counter(outcomes).items():
            self.metrics.published.labels(outcome.value).inc(count)
        self._settle(claim, list(zip(rows, outcomes, strict=True)))
        if PublishOutcome.UNKNOWN in outcomes:
            raise BrokerConnectionLost("missing confirms")
        if set(outcomes) != {PublishOutcome.CONFIRMED}:
            raise BrokerUnavailable("the broker did not accept every message")
        return len(rows)

    def _settle(self, claim: str, outcomes: Sequence[tuple[OutboxRow, PublishOutcome]]) -> None:
        ids: dict[PublishOutcome, list[int]] = {outcome: [] for outcome in PublishOutcome}
        for row, outcome in outcomes:
            ids[outcome].append(row.id)

        def work(connection: Connection) -> None:
            outbox.mark_sent(connection, ids[PublishOutcome.CONFIRMED])
            outbox.release(connection, claim, ids[PublishOutcome.UNKNOWN])
            unroutable = ids[PublishOutcome.RETURNED] + ids[PublishOutcome.REFUSED]
            outbox.postpone(connection, claim, unroutable, delay_s=UNROUTABLE_DELAY_S)

        transact(self.engine, work)


def _message(row: OutboxRow) -> Message:
    return Message(str(row.id), row.queue, row.body.encode())
