"""What the tests of the relay share: a broker that answers as the test says, and messages in the outbox."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from reference_impl.ports import Message, PublishOutcome
from reference_impl.rows import outbox
from reference_impl.rows.transactions import transact
from tests.unit.reference.reference_world import World

CONFIRMED, RETURNED, REFUSED, UNKNOWN = PublishOutcome


class Crash(BaseException):
    """The relay dies here."""


@dataclass
class Scripted:
    """A broker of which a test says what it answers; also its own publisher."""

    answer: Callable[[Message], PublishOutcome] = lambda _: CONFIRMED
    published: list[str] = field(default_factory=list)
    opened: int = 0
    declared: int = 0
    closed: int = 0

    def declare(self, _topology: object) -> None:
        self.declared += 1

    def open_publisher(self) -> "Scripted":
        self.opened += 1
        return self

    def publish(self, messages: Sequence[Message], *, timeout_s: float) -> list[PublishOutcome]:
        self.published += [message.id for message in messages]
        return [self.answer(message) for message in messages]

    def close(self) -> None:
        self.closed += 1


def publish(world: World, broker: Any, name: str = "relay-1", **options: Any) -> int:
    return world.relay(name, broker=broker, **options).publish_batch(broker)


def put(world: World, *, count: int = 1, delay_s: float = 0.0) -> list[str]:
    """So many messages in the outbox; their ids."""
    for number in range(count):
        transact(
            world.engine,
            lambda connection: outbox.put(connection, f"t{number}", "tasks", trace_id="trace", delay_s=delay_s),  # noqa: B023
        )
    return [str(row.id) for row in world.outbox()][-count:]
