"""What a conversation is about: which messages are acknowledged, published, delivered, confirmed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pamqp import commands

from chaos.injection import Message
from chaos.network import conversation
from chaos.network.conversation import AckSent, Conversation, Counters, Published
from chaos.services.rabbitmq.frames import Splitter
from tests.unit.chaos import amqp_bytes


def bodies(operation: AckSent | Published) -> tuple[str, ...]:
    return tuple(content.message().body for content in operation.contents)


def told(operation: AckSent | Published) -> tuple[int, int, bool, tuple[str, ...]]:
    """Channel, tag, whether it is an ack of many (or a publish in confirm mode), and the bodies."""
    flag = operation.multiple if isinstance(operation, AckSent) else operation.in_confirm_mode
    return operation.channel, operation.tag, flag, bodies(operation)


class Talk:
    def __init__(self) -> None:
        self.counters = Counters()
        self.conversation = Conversation(self.counters)
        self._client = Splitter(preamble=False)
        self._broker = Splitter(preamble=False)

    def client(self, *said: bytes) -> list[AckSent | Published]:
        heard = [self.conversation.follow_client(frame) for frame in self._client.feed(b"".join(said))]
        return [one for one in heard if one is not None]

    def broker(self, *said: bytes) -> None:
        for frame in self._broker.feed(b"".join(said)):
            self.conversation.follow_broker(frame)


def test_an_ack_is_told_with_the_message_it_is_for() -> None:
    talk = Talk()
    talk.broker(amqp_bytes.deliver(1, b"task a"), amqp_bytes.deliver(2, b"task b"))

    heard = talk.client(amqp_bytes.ack(2), amqp_bytes.ack(1))

    assert [*map(told, heard)] == [(1, 2, False, ("task b",)), (1, 1, False, ("task a",))]


def test_an_ack_of_many_is_told_with_all_that_are_still_unsettled() -> None:
    talk = Talk()
    talk.broker(*(amqp_bytes.deliver(tag, f"task {tag}".encode()) for tag in range(1, 6)))

    heard = talk.client(amqp_bytes.ack(2), amqp_bytes.ack(4, multiple=True), amqp_bytes.ack(0, multiple=True))

    assert [*map(told, heard)] == [
        (1, 2, False, ("task 2",)),
        (1, 4, True, ("task 1", "task 3", "task 4")),
        (1, 0, True, ("task 5",)),
    ]


def test_a_message_that_was_rejected_is_not_acknowledged_later() -> None:
    talk = Talk()
    talk.broker(*(amqp_bytes.deliver(tag, f"task {tag}".encode()) for tag in range(1, 5)))

    heard = talk.client(
        amqp_bytes.method(commands.Basic.Reject(delivery_tag=1, requeue=True)),
        amqp_bytes.method(commands.Basic.Nack(delivery_tag=3, multiple=True)),
        amqp_bytes.ack(4, multiple=True),
    )

    assert [*map(told, heard)] == [(1, 4, True, ("task 4",))]


def test_channels_do_not_mix() -> None:
    talk = Talk()
    talk.broker(amqp_bytes.deliver(1, b"of one", channel=1), amqp_bytes.deliver(1, b"of two", channel=2))

    assert [*map(told, talk.client(amqp_bytes.ack(1, channel=2)))] == [(2, 1, False, ("of two",))]


def test_a_channel_opened_again_counts_from_the_start() -> None:
    talk = Talk()
    talk.client(amqp_bytes.method(commands.Confirm.Select()), amqp_bytes.publish(b"before"))

    heard = talk.client(amqp_bytes.method(commands.Channel.Open()), amqp_bytes.publish(b"after"))

    assert [*map(told, heard)] == [(1, 1, False, ("after",))]


def test_a_publish_is_told_when_its_last_frame_has_come() -> None:
    talk = Talk()
    talk.client(amqp_bytes.method(commands.Confirm.Select()))
    published = amqp_bytes.publish(b"x" * 250)  # three frames of body

    assert talk.client(published[:-1]) == []
    assert [*map(told, talk.client(published[-1:]))] == [(1, 1, True, ("x" * 250,))]


def test_a_publish_without_a_body_is_complete_with_its_header() -> None:
    assert [*map(told, Talk().client(amqp_bytes.publish(b"")))] == [(1, 1, False, ("",))]


def test_a_long_body_is_kept_whole_up_to_a_bound_and_then_cut() -> None:
    talk = Talk()
    whole, longer = b"x" * conversation.BODY_MAX_BYTES, b"y" * (conversation.BODY_MAX_BYTES + 1)
    talk.broker(amqp_bytes.deliver(1, whole, piece=100_000), amqp_bytes.deliver(2, longer, piece=100_000))

    first, second = talk.client(amqp_bytes.ack(1), amqp_bytes.ack(2))

    assert first.contents[0].message() == Message(whole.decode(), is_cut=False)
    assert second.contents[0].message() == Message(longer.decode()[:-1], is_cut=True)


def test_all_bodies_of_a_connection_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "KEPT_MAX_BYTES", 10)
    talk = Talk()
    talk.broker(*(amqp_bytes.deliver(tag, b"123456") for tag in (1, 2, 3)))

    cut = talk.client(*(amqp_bytes.ack(tag) for tag in (1, 2, 3)))
    talk.broker(amqp_bytes.deliver(4, b"123456"))
    (whole,) = talk.client(amqp_bytes.ack(4))

    kept = [content.message() for operation in [*cut, whole] for content in operation.contents]
    assert [(message.body, message.is_cut) for message in kept] == [
        ("123456", False),
        ("1234", True),
        ("", True),
        ("123456", False),
    ]


def test_a_message_is_told_by_its_properties() -> None:
    talk = Talk()
    properties = commands.Basic.Properties(
        message_id="907", correlation_id="c-1", headers={"id": "t-907", "retries": 3, "raw": bytearray(b"bytes")}
    )
    talk.broker(amqp_bytes.deliver(1, b"[[], {}]", properties=properties))

    (acknowledged,) = talk.client(amqp_bytes.ack(1))

    assert acknowledged.contents[0].message() == Message(
        "[[], {}]",
        (("message_id", "907"), ("correlation_id", "c-1"), ("id", "t-907"), ("raw", "bytes"), ("retries", "3")),
    )


def test_a_returned_message_is_no_delivery() -> None:
    talk = Talk()
    returned = commands.Basic.Return(reply_code=312, reply_text="NO_ROUTE", exchange="x", routing_key="k")
    talk.broker(amqp_bytes.method(returned), amqp_bytes.content(b"came back"), amqp_bytes.deliver(1, b"task a"))

    assert [*map(told, talk.client(amqp_bytes.ack(1)))] == [(1, 1, False, ("task a",))]
    assert talk.counters.deliveries == 1


def test_everything_is_counted() -> None:
    talk = Talk()
    talk.client(amqp_bytes.publish(b"a"), amqp_bytes.publish(b"b"), amqp_bytes.HEARTBEAT)
    talk.broker(amqp_bytes.ack(1), amqp_bytes.ack(2), amqp_bytes.deliver(1, b"a"), amqp_bytes.get_ok(2, b"b"))
    talk.client(amqp_bytes.ack(1), amqp_bytes.ack(2))

    assert talk.counters == Counters(publishes=2, confirms=2, deliveries=2, acks=2)


def test_what_is_remembered_of_deliveries_is_bounded() -> None:
    talk = Talk()
    total = conversation.UNSETTLED_MAX + 10
    talk.broker(*(amqp_bytes.deliver(tag, b"x") for tag in range(1, total + 1)))

    forgotten, remembered = talk.client(amqp_bytes.ack(1), amqp_bytes.ack(total))

    assert told(forgotten) == (1, 1, False, ())
    assert told(remembered) == (1, total, False, ("x",))


@given(st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=12))
def test_every_delivery_is_settled_at_most_once(acks: list[tuple[int, bool]]) -> None:
    talk = Talk()
    talk.broker(*(amqp_bytes.deliver(tag, str(tag).encode()) for tag in range(1, 11)))
    open_tags = set(range(1, 11))

    for tag, multiple in acks:
        (heard,) = talk.client(amqp_bytes.ack(tag, multiple=multiple))
        settled = {one for one in open_tags if one == tag or (multiple and one < tag)}
        open_tags -= settled
        assert isinstance(heard, AckSent)
        assert bodies(heard) == tuple(str(one) for one in sorted(settled))


@pytest.mark.parametrize("tag", ["given", ""])
def test_a_delivery_that_needs_no_acknowledgement_is_settled_by_itself(tag: str) -> None:
    talk = Talk()
    talk.client(amqp_bytes.method(commands.Basic.Consume(queue="q", consumer_tag=tag, no_ack=True)))
    talk.broker(amqp_bytes.method(commands.Basic.ConsumeOk(tag or "chosen")))
    talk.client(amqp_bytes.method(commands.Basic.Consume(queue="q", consumer_tag="careful", no_ack=False)))

    talk.broker(amqp_bytes.deliver(1, b"told", consumer_tag=tag or "chosen"))
    talk.broker(amqp_bytes.deliver(2, b"task", consumer_tag="careful"))

    assert [one.message().body for one in talk.conversation.unsettled()] == ["task"]


def test_so_is_one_that_was_fetched_so() -> None:
    talk = Talk()
    for tag, no_ack in ((1, True), (2, False)):
        talk.client(amqp_bytes.method(commands.Basic.Get(queue="q", no_ack=no_ack)))
        talk.broker(amqp_bytes.get_ok(tag, f"task {tag}".encode()))

    assert [one.message().body for one in talk.conversation.unsettled()] == ["task 2"]
