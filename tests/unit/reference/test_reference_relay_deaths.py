"""A relay that dies, or whose commit is unknown, loses no message; nor does any sequence of such troubles."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import event

from reference_impl.errors import BrokerConnectionLost, BrokerUnavailable
from reference_impl.ports import Message, PublishOutcome
from tests.unit.reference.reference_world import CommitReplies, World
from tests.unit.reference.relay_world import CONFIRMED, UNKNOWN, Crash, Scripted, publish, put


@pytest.mark.parametrize("delivered", [True, False])
def test_a_relay_that_dies_around_the_publish_costs_at_most_a_duplicate(world: World, delivered: bool) -> None:
    """R13: after the claim has run out another relay publishes what was not marked."""
    ids = put(world, count=2)

    class Dying(Scripted):
        def publish(self, messages: Sequence[Message], *, timeout_s: float) -> list[PublishOutcome]:
            if delivered:
                super().publish(messages, timeout_s=timeout_s)
            raise Crash

    dying, other = Dying(), Scripted()
    with pytest.raises(Crash):
        publish(world, dying)
    too_early = publish(world, other, "relay-2")
    world.time.pass_(30.1)
    publish(world, other, "relay-2")

    assert too_early == 0, "the claim of the dead relay has not run out"
    assert other.published == ids
    assert dying.published == (ids if delivered else [])
    assert world.pending() == []


@pytest.mark.parametrize("committed", [True, False])
def test_a_mark_whose_commit_is_unknown_loses_nothing(world: World, committed: bool) -> None:
    """R13: marked or not, the message is with the broker; not marked, it is published again when the claim has run out."""
    ids = put(world, count=2)
    broker = Scripted()
    replies = CommitReplies(world.engine)

    def lose_the_next(_message: Message) -> PublishOutcome:
        if not replies.lost:
            replies.lose(committed)
            replies.lost = 1
        return CONFIRMED

    broker.answer = lose_the_next
    with pytest.raises(Exception, match="no reply to a commit"):
        publish(world, broker)
    world.time.pass_(30.1)
    again = publish(world, broker, "relay-2")

    assert again == (0 if committed else 2)
    assert broker.published == (ids if committed else ids * 2)
    assert world.pending() == []


def test_a_claim_whose_commit_is_unknown_loses_nothing(world: World) -> None:
    """R13."""
    ids = put(world, count=2)
    broker = Scripted()
    CommitReplies(world.engine).lose(True)
    with pytest.raises(Exception, match="no reply to a commit"):
        publish(world, broker)
    world.time.pass_(30.1)

    publish(world, broker)

    assert broker.published == ids


@hypothesis_settings(max_examples=40)
@given(st.data())
def test_whatever_relays_do_and_wherever_they_die_every_message_arrives(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """R13: any outcome for any message, a death after any database or broker call; in the end each is published and marked."""
    world = World(tmp_path_factory.mktemp("relay"))
    ids = put(world, count=data.draw(st.integers(1, 4)))
    arrived: set[str] = set()
    dies_at = st.integers(0, 5)

    class Chaotic(Scripted):
        def publish(self, messages: Sequence[Message], *, timeout_s: float) -> list[PublishOutcome]:
            outcomes = [data.draw(st.sampled_from(PublishOutcome)) for _ in messages]
            for message, outcome in zip(messages, outcomes, strict=True):
                if outcome is CONFIRMED or (outcome is UNKNOWN and data.draw(st.booleans())):
                    arrived.add(message.id)
            return outcomes

    for _ in range(data.draw(st.integers(0, 4))):
        calls = Countdown(data.draw(dies_at))
        event.listen(world.engine, "before_cursor_execute", calls.count)
        try:
            publish(world, Chaotic(), rows_max=data.draw(st.integers(1, 4)))
        except (Crash, BrokerConnectionLost, BrokerUnavailable):
            pass
        finally:
            event.remove(world.engine, "before_cursor_execute", calls.count)
        sent = {str(row.id) for row in world.outbox(status="SENT")}
        assert sent <= arrived, "nothing is marked that did not arrive"
        world.time.pass_(data.draw(st.sampled_from([0.0, 3.0, 31.0])))
    world.time.pass_(31.0)
    while publish(world, Scripted(answer=lambda message: arrived.add(message.id) or CONFIRMED)):  # type: ignore[func-returns-value]
        pass

    assert arrived == set(ids)
    assert world.pending() == []
    world.close()


class Countdown:
    """Dies at the n-th statement."""

    def __init__(self, statements: int) -> None:
        self._left = statements

    def count(self, *_: Any) -> None:
        if self._left == 0:
            raise Crash
        self._left -= 1
