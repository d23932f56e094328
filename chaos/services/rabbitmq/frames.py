"""AMQP 0-9-1 on the wire: splits a stream into frames without changing a byte, and parses the methods and properties in them."""

import struct
from typing import NamedTuple

from pamqp import commands, frame, header
from pamqp.exceptions import PAMQPException

PROTOCOL_HEADER_BYTES = 8
HEADER_BYTES = 7
END_BYTES = 1
FRAME_END = 0xCE
FRAME_BYTES_MAX = 1 << 24
"""Larger than any frame that brokers negotiate (131072 by default): a larger frame means that the stream is not AMQP."""

METHOD, CONTENT_HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
KINDS = frozenset((METHOD, CONTENT_HEADER, BODY, HEARTBEAT))
PREAMBLE = 0
"""As a frame's kind: the protocol header at the start of a client's stream."""

PUBLISH = commands.Basic.Publish.index
DELIVER = commands.Basic.Deliver.index
CONSUME = commands.Basic.Consume.index
CONSUME_OK = commands.Basic.ConsumeOk.index
GET = commands.Basic.Get.index
GET_OK = commands.Basic.GetOk.index
RETURN = commands.Basic.Return.index
ACK = commands.Basic.Ack.index
NACK = commands.Basic.Nack.index
REJECT = commands.Basic.Reject.index
CONFIRM_SELECT = commands.Confirm.Select.index
CHANNEL_OPEN = commands.Channel.Open.index

UNREADABLE = (
    *(PAMQPException, struct.error, ValueError, LookupError, TypeError, ArithmeticError, OSError),
    RecursionError,
)
"""What pamqp raises for bytes that are no content header: a client may send anything."""

_AMQP = b"AMQP"
_kind_and_channel = struct.Struct(">BH")
_size = struct.Struct(">I")
_method = struct.Struct(">I")
_tag_and_bits = struct.Struct(">QB")
_body_size = struct.Struct(">Q")


class Frame(NamedTuple):
    """One frame as received; `raw` includes header and end byte."""

    kind: int
    channel: int
    raw: bytes

    @property
    def payload(self) -> bytes:
        """The bytes between header and end."""
        return self.raw[HEADER_BYTES:-END_BYTES]

    @property
    def method(self) -> int:
        """The method's index as pamqp numbers it (class id in the high 16 bits); 0 for frames of other kinds."""
        return int(_method.unpack_from(self.raw, HEADER_BYTES)[0]) if self.kind == METHOD else 0


class Splitter:
    """Splits one direction of a connection into frames. An incomplete frame is kept until the rest arrives."""

    def __init__(self, *, preamble: bool) -> None:
        self.is_opaque = False
        self._unread = bytearray()
        self._preamble = preamble
        self._is_first = True

    def feed(self, received: bytes) -> list[Frame]:
        """The frames that are complete now. All returned frames and the unfinished bytes, joined, equal the bytes received.

        A stream that is not AMQP 0-9-1 makes it opaque: from then on it returns no frames and keeps all bytes as unfinished.
        """
        unread = self._unread
        unread += received
        frames: list[Frame] = []
        at = 0
        while not self.is_opaque and len(unread) > at:
            end = self._end_of_frame(at)
            if end > len(unread):
                break
            raw = bytes(unread[at:end])
            kind, channel = (PREAMBLE, 0) if raw[0] == _AMQP[0] else _kind_and_channel.unpack_from(raw)
            frames.append(Frame(kind, channel, raw))
            self._is_first = False
            at = end
        del unread[:at]
        return frames

    def take_unfinished(self) -> bytes:
        """Remove and return the bytes after the last complete frame."""
        unread = bytes(self._unread)
        self._unread.clear()
        return unread

    def _end_of_frame(self, at: int) -> int:
        """The end of the frame that begins at `at`, or a position beyond the received bytes if it is not known yet."""
        unread = self._unread
        beyond = len(unread) + 1
        kind = unread[at]
        if kind == _AMQP[0]:  # a protocol header: from a client, or a broker's answer to an unsupported version
            self.is_opaque = not unread.startswith(_AMQP[: len(unread) - at], at)
            return beyond if self.is_opaque else at + PROTOCOL_HEADER_BYTES
        if kind not in KINDS or (self._is_first and self._preamble):
            self.is_opaque = True
            return beyond
        if len(unread) - at < HEADER_BYTES:
            return beyond
        size = _size.unpack_from(unread, at + 3)[0]
        end = at + HEADER_BYTES + int(size) + END_BYTES
        self.is_opaque = size > FRAME_BYTES_MAX or (end <= len(unread) and unread[end - 1] != FRAME_END)
        return beyond if self.is_opaque else end


def read_tag(frame: Frame) -> tuple[int, bool]:
    """Delivery tag and first bit of a basic.ack or basic.nack (`multiple`) or basic.reject (`requeue`)."""
    tag, bits = _tag_and_bits.unpack_from(frame.raw, HEADER_BYTES + 4)
    return int(tag), bool(bits & 1)


def read_no_ack(frame: Frame) -> bool:
    """Whether a basic.consume or basic.get asks for deliveries that need no acknowledgement."""
    at = HEADER_BYTES + 4 + 2
    at += 1 + frame.raw[at]  # the queue
    if frame.method == GET:
        return bool(frame.raw[at] & 1)
    at += 1 + frame.raw[at]  # the consumer tag
    return bool(frame.raw[at] & 2)


def read_consumer_tag(frame: Frame) -> bytes:
    """The consumer tag of a basic.consume, basic.consume-ok or basic.deliver; empty in a consume whose tag the broker chooses."""
    at = HEADER_BYTES + 4
    if frame.method == CONSUME:
        at += 2
        at += 1 + frame.raw[at]  # the queue
    return frame.raw[at + 1 : at + 1 + frame.raw[at]]


def read_delivery_tag(frame: Frame) -> int:
    """The delivery tag of a basic.deliver or basic.get-ok."""
    at = HEADER_BYTES + 4
    if frame.method == DELIVER:
        at += 1 + frame.raw[at]  # the consumer tag, a short string, comes before
    return int(_body_size.unpack_from(frame.raw, at)[0])


def read_body_size(frame: Frame) -> int:
    """How many bytes of body the content header announces."""
    return int(_body_size.unpack_from(frame.raw, HEADER_BYTES + 4)[0])


def read_properties(raw: bytes) -> tuple[tuple[str, str], ...]:
    """The identifying properties in a content header frame, as text: `message_id`, `correlation_id`, each header by its own name.

    Empty if the header cannot be parsed: the broker deals with that.
    """
    try:
        _, _, content = frame.unmarshal(raw)
    except UNREADABLE:
        return ()
    if not isinstance(content, header.ContentHeader):
        return ()
    properties = content.properties
    known = {"message_id": properties.message_id, "correlation_id": properties.correlation_id}
    found = {**known, **(properties.headers or {})}
    return tuple((str(name), _text(value)) for name, value in found.items() if value is not None)


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes | bytearray) else str(value)
