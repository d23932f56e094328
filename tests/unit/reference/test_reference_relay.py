"""The outbox and its relay: every message is published at least once, never before it is due, and marked only when confirmed."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import update

from reference_impl.errors import BrokerConnectionLost, BrokerUnavailable, DatabaseUnavailable
from reference_impl.loops import relay
from reference_impl.ports import Message, PublishOutcome
from reference_impl.rows import outbox, schema
from reference_impl.rows.dead_letter import redrive
from reference_impl.rows.transactions import transact
from tests.unit.reference.reference_world import SETTINGS, World
from tests.unit.reference.relay_world import CONFIRMED, REFUSED, RETURNED, UNKNOWN, Scripted, publish, put


def test_what_is_confirmed_is_sent_and_never_published_again(world: World) -> None:
    """R13."""
    ids = put(world, count=3)
    broker = Scripted()

    counts = [publish(world, broker), publish(world, broker)]

    assert counts == [3, 0]
    assert broker.published == ids
    assert [row.status for row in world.outbox()] == ["SENT"] * 3
    assert all(row.sent_us is not None for row in world.outbox())


def test_a_message_is_published_when_it_is_due_and_not_before(world: World) -> None:
    """R15."""
    put(world, delay_s=5.0)
    broker = Scripted()
    world.time.pass_(4.9)
    too_early = publish(world, broker)
    world.time.pass_(0.1)

    assert (too_early, publish(world, broker)) == (0, 1)


@pytest.mark.parametrize("outcome", [RETURNED, REFUSED, UNKNOWN])
def test_what_is_not_confirmed_is_not_marked_and_is_published_again(world: World, outcome: PublishOutcome) -> None:
    """R11, R13: one bad answer in a batch concerns that message alone; the relay begins afresh."""
    first, second, third = put(world, count=3)
    broker = Scripted(answer=lambda message: outcome if message.id == second else CONFIRMED)
    with pytest.raises(BrokerConnectionLost if outcome is UNKNOWN else BrokerUnavailable):
        publish(world, broker)

    assert [str(id_) for id_ in world.pending()] == [second]
    broker.answer = lambda _: CONFIRMED
    world.time.pass_(relay.UNROUTABLE_DELAY_S)
    publish(world, broker, "relay-2")
    assert broker.published == [first, second, third, second]
    assert world.pending() == []


def test_messages_that_no_queue_takes_do_not_stand_before_the_others(world: World) -> None:
    """R13: more of them than a batch holds, and the oldest of all: else nothing is ever published again."""
    batch = 10
    put(world, count=batch)
    with world.engine.begin() as connection:
        connection.execute(update(schema.outbox).values(queue="of an older configuration"))
    good = put(world, count=3)
    broker = Scripted(answer=lambda message: CONFIRMED if message.queue == "tasks" else RETURNED)

    with pytest.raises(BrokerUnavailable):
        publish(world, broker, rows_max=batch)
    published = publish(world, broker, rows_max=batch)

    assert published == 3
    assert broker.published[-3:] == good


def test_a_connection_that_breaks_gives_everything_back_at_once(world: World) -> None:
    """R13: a relay that found no connection need not wait for its own claim to run out."""
    ids = put(world, count=2)

    class Gone(Scripted):
        def publish(self, messages: Sequence[Message], *, timeout_s: float) -> list[PublishOutcome]:
            raise BrokerUnavailable("refused")

    with pytest.raises(BrokerUnavailable):
        publish(world, Gone())
    broker = Scripted()
    publish(world, broker, "relay-2")

    assert broker.published == ids


def test_a_batch_is_bounded(world: World) -> None:
    """R22."""
    put(world, count=5)
    broker = Scripted()

    assert [publish(world, broker, rows_max=2) for _ in range(4)] == [2, 2, 1, 0]


def test_running_it_opens_a_new_channel_after_trouble_and_ends_when_asked(world: World) -> None:
    """R13, R30."""
    put(world)
    outcomes = iter([UNKNOWN, CONFIRMED])
    broker = Scripted(answer=lambda _: next(outcomes))

    world.relay(broker=broker, rests=4).run()

    assert (broker.opened, broker.declared, broker.closed) == (2, 2, 2)
    assert world.pending() == []


def test_running_it_waits_for_a_broker_and_for_a_database_that_are_away(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world)
    troubles = iter([DatabaseUnavailable("away"), DatabaseUnavailable("away")])
    transact_ = relay.transact

    def sometimes(engine: Any, work: Any) -> Any:
        for trouble in troubles:
            raise trouble
        return transact_(engine, work)

    monkeypatch.setattr(relay, "transact", sometimes)

    class Away(Scripted):
        def open_publisher(self) -> Scripted:
            super().open_publisher()
            if self.opened < 3:
                raise BrokerUnavailable("refused")
            return self

    broker = Away()
    world.relay(broker=broker, rests=6).run()

    assert broker.opened == 3
    assert world.pending() == []


def test_no_database_connection_is_held_while_publishing(world: World) -> None:
    """R3."""
    put(world)
    in_use: list[int] = []

    def look(_message: Message) -> PublishOutcome:
        in_use.append(world.engine.pool.checkedout())  # type: ignore[attr-defined]
        return CONFIRMED

    publish(world, Scripted(answer=look))

    assert in_use == [0]


def test_only_old_rows_that_were_sent_are_purged_some_at_a_time(world: World) -> None:
    put(world, count=3)
    publish(world, Scripted())
    put(world, count=1)
    world.time.pass_(100.0)

    def purge(older_than_s: float) -> int:
        return transact(
            world.engine,
            lambda connection: outbox.purge_sent(connection, older_than_s=older_than_s, rows_max=2),
        )

    assert [purge(101.0), purge(99.0), purge(99.0), purge(99.0)] == [0, 2, 1, 0]
    assert len(world.pending()) == 1


def test_the_age_of_the_oldest_message_counts_from_when_it_was_due(world: World) -> None:
    """R19."""

    def age_us() -> int:
        return transact(world.engine, outbox.oldest_pending_age_us)

    nothing = age_us()
    put(world, delay_s=10.0)
    world.time.pass_(5.0)
    not_due = age_us()
    world.time.pass_(8.0)

    assert (nothing, not_due) == (0, 0)
    assert age_us() == pytest.approx(3_000_000, abs=10)


def test_after_a_restart_each_waiting_task_has_its_latest_message_again_and_no_other_task_has(world: World) -> None:
    """R29: a queue in memory is empty after a restart."""
    accepted, retrying, done, dead, redriven = (world.submit() for _ in range(5))
    world.fail(world.claim(retrying), delay_s=0.0)
    world.succeed(world.claim(done))
    world.kill(dead)
    world.kill(redriven)
    letter = world.letters()[-1].id
    transact(
        world.engine,
        lambda connection: redrive(connection, letter, actor="api", work_queue=SETTINGS.work_queue),
    )
    broker = Scripted()
    while publish(world, broker):
        pass

    transact(world.engine, outbox.revive_waiting)

    revived = world.outbox(status="PENDING")
    assert [(row.task_id, row.queue) for row in revived] == [
        (task.id, SETTINGS.work_queue) for task in (accepted, retrying, redriven)
    ]
