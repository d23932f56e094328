"""Cutting a stream into frames loses no byte, whatever comes and however it is chopped."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from pamqp import commands, frame

from chaos.services.rabbitmq.frames import (
    ACK,
    DELIVER,
    GET_OK,
    HEARTBEAT,
    METHOD,
    PREAMBLE,
    PUBLISH,
    Frame,
    Splitter,
    read_delivery_tag,
    read_properties,
    read_tag,
)
from tests.unit.chaos import amqp_bytes

tags = st.integers(0, 2**63 - 1)  # as far as pamqp goes
channels = st.integers(0, 2**16 - 1)
utterances = st.one_of(
    st.builds(amqp_bytes.publish, st.binary(max_size=400), channels),
    st.builds(amqp_bytes.deliver, tags, st.binary(max_size=400), channels),
    st.builds(amqp_bytes.ack, tags, channels, multiple=st.booleans()),
    st.just(amqp_bytes.HEARTBEAT),
)


def feed_in_pieces(splitter: Splitter, stream: bytes, cuts: list[int]) -> list[Frame]:
    frames: list[Frame] = []
    start = 0
    for cut in [*sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]:
        frames += splitter.feed(stream[start:cut])
        start = cut
    return frames


@given(st.lists(utterances, max_size=20), st.lists(st.integers(min_value=0), max_size=30))
def test_a_stream_of_a_client_comes_out_as_it_went_in(said: list[bytes], cuts: list[int]) -> None:
    stream = amqp_bytes.PREAMBLE + b"".join(said)
    splitter = Splitter(preamble=True)

    frames = feed_in_pieces(splitter, stream, cuts)

    assert b"".join(one.raw for one in frames) == stream
    assert splitter.take_unfinished() == b""
    assert not splitter.is_opaque


@given(st.binary(), st.lists(st.integers(min_value=0), max_size=10), st.booleans())
def test_whatever_it_is_fed_no_byte_is_lost_or_changed(stream: bytes, cuts: list[int], preamble: bool) -> None:
    splitter = Splitter(preamble=preamble)

    frames = feed_in_pieces(splitter, stream, cuts)

    assert b"".join(one.raw for one in frames) + splitter.take_unfinished() == stream


@given(st.lists(utterances, min_size=1, max_size=10))
def test_each_frame_is_what_pamqp_reads_in_it(said: list[bytes]) -> None:
    rest = b"".join(said)

    for one in Splitter(preamble=False).feed(rest):
        length, channel, content = frame.unmarshal(rest)
        rest = rest[length:]
        assert (len(one.raw), one.channel) == (length, channel)
        assert one.method == (content.index if one.kind == METHOD else 0)  # type: ignore[union-attr]

    assert rest == b""


@given(tags, st.booleans())
def test_an_ack_is_read_with_its_tag(tag: int, multiple: bool) -> None:
    (one,) = Splitter(preamble=False).feed(amqp_bytes.ack(tag, multiple=multiple))

    assert one.method == ACK
    assert read_tag(one) == (tag, multiple)


@given(tags, st.text(max_size=40))
def test_a_delivery_is_read_with_its_tag(tag: int, consumer: str) -> None:
    told = commands.Basic.Deliver(consumer_tag=consumer, delivery_tag=tag, exchange="x", routing_key="k")
    (delivered,) = Splitter(preamble=False).feed(amqp_bytes.method(told))
    fetched = Splitter(preamble=False).feed(amqp_bytes.get_ok(tag, b""))[0]

    assert (delivered.method, read_delivery_tag(delivered)) == (DELIVER, tag)
    assert (fetched.method, read_delivery_tag(fetched)) == (GET_OK, tag)


@given(st.binary(max_size=200), st.binary(max_size=80))
def test_properties_that_cannot_be_read_are_none_and_no_error(noise: bytes, table: bytes) -> None:
    announced = struct.pack(">HHQH", 60, 0, 5, 0b0010_0000_0000_0000)  # a content header with a table of headers
    payload = announced + struct.pack(">I", len(table)) + table
    broken = struct.pack(">BHI", 2, 1, len(payload)) + payload + b"\xce"

    for raw in (noise, broken, broken[:-1]):
        assert all(isinstance(text, str) for pair in read_properties(raw) for text in pair)


def test_what_is_not_amqp_is_handed_back_unread() -> None:
    splitter = Splitter(preamble=True)

    assert splitter.feed(b"\x16\x03\x01") == []  # TLS
    assert splitter.is_opaque
    assert splitter.take_unfinished() == b"\x16\x03\x01"
    assert splitter.feed(b"more") == []
    assert splitter.take_unfinished() == b"more"


def test_a_frame_without_its_end_makes_the_rest_unreadable() -> None:
    splitter = Splitter(preamble=False)
    broken = amqp_bytes.ack(1)[:-1] + b"\x00"

    frames = splitter.feed(amqp_bytes.HEARTBEAT + broken + amqp_bytes.ack(2))

    assert [one.kind for one in frames] == [HEARTBEAT]
    assert splitter.is_opaque
    assert splitter.take_unfinished() == broken + amqp_bytes.ack(2)


def test_the_start_of_a_client_and_its_publish_are_told_apart() -> None:
    frames = Splitter(preamble=True).feed(amqp_bytes.PREAMBLE + amqp_bytes.publish(b"hello"))

    assert [one.kind for one in frames] == [PREAMBLE, METHOD, 2, 3]
    assert [one.method for one in frames] == [0, PUBLISH, 0, 0]
    assert frames[-1].payload == b"hello"
