"""Several relays at once: none skips a row, takes a row twice, or takes back what another holds."""

from sqlalchemy import insert, update

from reference_impl.rows import outbox, schema
from reference_impl.rows.transactions import transact
from tests.unit.reference.reference_world import World
from tests.unit.reference.relay_world import Scripted, publish, put


def test_a_row_that_commits_late_with_a_lower_id_is_not_skipped(world: World) -> None:
    """R13: by state, never by 'greater than the last id'."""
    put(world, count=1)
    with world.engine.begin() as connection:
        connection.execute(update(schema.outbox).values(id=100))
    broker = Scripted()
    publish(world, broker)
    late = {"id": 7, "task_id": "late", "queue": "tasks", "body": "{}", "status": "PENDING"}
    with world.engine.begin() as connection:
        connection.execute(
            insert(schema.outbox).values(**late, available_us=world.time.now_us, created_us=world.time.now_us)
        )

    publish(world, broker)

    assert broker.published == ["100", "7"]


def test_two_relays_never_hold_the_same_row(world: World) -> None:
    """R13: several relays may run."""
    put(world, count=5)
    held = [
        transact(world.engine, lambda connection: outbox.claim_batch(connection, name, rows_max=3, claim_s=30.0))  # noqa: B023
        for name in ("a", "b", "c")
    ]

    assert [[row.id for row in rows] for rows in held] == [[1, 2, 3], [4, 5], []]


def test_a_relay_that_was_away_longer_than_its_claim_takes_nothing_back(world: World) -> None:
    """R13: only the holder of a row can release it; a confirm counts from any relay."""
    put(world, count=2)

    def claim(name: str) -> list[int]:
        rows = transact(world.engine, lambda connection: outbox.claim_batch(connection, name, rows_max=9, claim_s=5.0))
        return [row.id for row in rows]

    first = claim("slow")
    world.time.pass_(5.1)
    second = claim("quick")
    transact(world.engine, lambda connection: outbox.release(connection, "slow", first))
    transact(world.engine, lambda connection: outbox.postpone(connection, "slow", first, delay_s=9.0))

    assert first == second
    assert claim("third") == []
    transact(world.engine, lambda connection: outbox.mark_sent(connection, first))
    assert world.pending() == []
