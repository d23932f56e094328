"""The outbox relay: publish what is pending, wait for the confirms, and only then mark it sent (R13)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from sqlalchemy import Connection, Engine

from reference_impl.errors import BrokerConnectionLost, BrokerError, BrokerUnavailable, DatabaseError
from reference_impl.loops.backoff import PATIENCE_S, Waiting
from reference_impl.metrics import Metrics
from reference_impl.ports import Broker, Message, Publisher, PublishOutcome, Runtime, Topology
from reference_impl.rows import outbox
from reference_impl.rows.outbox import OutboxRow
from reference_impl.rows.transactions import transact

log = structlog.get_logger()

NOT_TAKEN_S = 2.0
"""How long a message that no queue takes gives way to the others."""


@dataclass(frozen=True, slots=True)
class Relay:
    """One of any number of relays; a crash anywhere costs at most a message published twice."""

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
        """Publish until it is time to end; a lost broker or database is waited for."""
        waiting = Waiting(self.runtime.stop, "relay waits for the broker")
        while not self.runtime.stop.requested:
            try:
                self.broker.declare(self.topology)  # a broker that was killed may have forgotten a young queue
                publisher = self.broker.open_publisher()
            except BrokerError as error:
                waiting.rest(error)
                continue
            waiting.is_over()
            try:
                self._publish_with(publisher)
            except BrokerError as error:
                log.warning("relay lost the broker", why=str(error))
                self.metrics.broker_connections_lost.inc()
                self.runtime.stop.wait(PATIENCE_S)
            finally:
                publisher.close()

    def _publish_with(self, publisher: Publisher) -> None:
        waiting = Waiting(self.runtime.stop, "relay waits for the database")
        while not self.runtime.stop.requested:
            try:
                published = self.publish_batch(publisher)
            except DatabaseError as error:
                waiting.rest(error)
                continue
            waiting.is_over()
            if published == 0:
                self.runtime.stop.wait(self.idle_s)

    def publish_batch(self, publisher: Publisher) -> int:
        """How many rows were taken up; those that were confirmed are marked, the others given back.

        Raises:
            BrokerError: not everything was confirmed: the connection is in doubt, or a queue is gone or full. Start afresh.
            DatabaseError: as `transact`; an unmarked row is published again when its claim has run out.
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
            transact(self.engine, lambda connection: outbox.give_back(connection, claim, [row.id for row in rows]))
            raise
        for outcome, count in Counter(outcomes).items():
            self.metrics.published.labels(outcome.value).inc(count)
        self._settle(claim, list(zip(rows, outcomes, strict=True)))
        if PublishOutcome.UNKNOWN in outcomes:
            raise BrokerConnectionLost("confirms stayed away")
        if set(outcomes) != {PublishOutcome.CONFIRMED}:
            raise BrokerUnavailable("no queue takes what was published")
        return len(rows)

    def _settle(self, claim: str, outcomes: Sequence[tuple[OutboxRow, PublishOutcome]]) -> None:
        ids: dict[PublishOutcome, list[int]] = {outcome: [] for outcome in PublishOutcome}
        for row, outcome in outcomes:
            ids[outcome].append(row.id)

        def work(connection: Connection) -> None:
            outbox.mark_sent(connection, ids[PublishOutcome.CONFIRMED])
            outbox.give_back(connection, claim, ids[PublishOutcome.UNKNOWN])
            not_taken = ids[PublishOutcome.RETURNED] + ids[PublishOutcome.REFUSED]
            outbox.put_off(connection, claim, not_taken, delay_s=NOT_TAKEN_S)

        transact(self.engine, work)


def _message(row: OutboxRow) -> Message:
    return Message(str(row.id), row.queue, row.body.encode())
