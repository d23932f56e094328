"""AMQP 0-9-1 as bytes on a wire: cutting a stream into frames without changing a byte, and telling which method a frame holds."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from pamqp import commands

PROTOCOL_HEADER_BYTES = 8
HEADER_BYTES = 7
END_BYTES = 1
FRAME_END = 0xCE
FRAME_BYTES_MAX = 1 << 24
"""Larger than any frame that brokers negotiate (131072 by default): beyond it, the stream is not AMQP."""

METHOD, CONTENT_HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
PREAMBLE = 0
"""As a frame's kind: the protocol header with which a client begins."""

PUBLISH = commands.Basic.Publish.index
DELIVER = commands.Basic.Deliver.index
GET_OK = commands.Basic.GetOk.index
RETURN = commands.Basic.Return.index
ACK = commands.Basic.Ack.index
CONFIRM_SELECT = commands.Confirm.Select.index
CHANNEL_OPEN = commands.Channel.Open.index

_header = struct.Struct(">BHI")
_method = struct.Struct(">I")
_tag_and_bits = struct.Struct(">QB")
_body_size = struct.Struct(">Q")


class MalformedStream(ValueError):
    """The bytes are not AMQP 0-9-1."""


class Frame(NamedTuple):
    """One frame as it came; `raw` is all of it, header and end included."""

    kind: int
    channel: int
    raw: bytes

    @property
    def payload(self) -> bytes:
        """What is between header and end."""
        return self.raw[HEADER_BYTES:-END_BYTES]

    @property
    def method(self) -> int:
        """The method's index as pamqp numbers it (class id in the high 16 bits); 0 for frames of other kinds."""
        return int(_method.unpack_from(self.raw, HEADER_BYTES)[0]) if self.kind == METHOD else 0


class Splitter:
    """Cuts one direction of a connection into frames. What was not yet a whole frame is kept for the next time."""

    def __init__(self, *, preamble: bool) -> None:
        self._unread = bytearray()
        self._preamble = preamble

    def feed(self, received: bytes) -> Iterator[Frame]:
        """The frames that are whole now; joined, their `raw` are the bytes fed so far, but for an unfinished frame.

        Raises:
            MalformedStream: a frame is too long or does not end as frames do.
        """
        unread = self._unread
        unread += received
        at = 0
        if self._preamble and len(unread) >= PROTOCOL_HEADER_BYTES:
            self._preamble = False
            at = PROTOCOL_HEADER_BYTES
            if not unread.startswith(b"AMQP"):
                raise MalformedStream(f"a connection began with {bytes(unread[:at])!r}")
            yield Frame(PREAMBLE, 0, bytes(unread[:at]))
        while not self._preamble and len(unread) - at >= HEADER_BYTES:
            if unread.startswith(b"AMQP", at):  # the broker's answer to a protocol version that it does not speak
                end = at + PROTOCOL_HEADER_BYTES
                if len(unread) < end:
                    break
                yield Frame(PREAMBLE, 0, bytes(unread[at:end]))
                at = end
                continue
            kind, channel, size = _header.unpack_from(unread, at)
            end = at + HEADER_BYTES + size + END_BYTES
            if size > FRAME_BYTES_MAX:
                raise MalformedStream(f"a frame of {size} bytes")
            if len(unread) < end:
                break
            if unread[end - 1] != FRAME_END:
                raise MalformedStream(f"a frame of kind {kind} ends with {unread[end - 1]:#x}")
            yield Frame(kind, channel, bytes(unread[at:end]))
            at = end
        del unread[:at]

    @property
    def unfinished(self) -> bytes:
        """What has come of a frame that is not whole yet."""
        return bytes(self._unread)


def read_tag(frame: Frame) -> tuple[int, bool]:
    """Delivery tag and `multiple` of a basic.ack."""
    tag, bits = _tag_and_bits.unpack_from(frame.raw, HEADER_BYTES + 4)
    return int(tag), bool(bits & 1)


def read_delivery_tag(frame: Frame) -> int:
    """The delivery tag of a basic.deliver or basic.get-ok."""
    at = HEADER_BYTES + 4
    if frame.method == DELIVER:
        at += 1 + frame.raw[at]  # the consumer tag, a short string, comes before
    return int(_body_size.unpack_from(frame.raw, at)[0])


def read_body_size(frame: Frame) -> int:
    """How many bytes of body the content header announces."""
    return int(_body_size.unpack_from(frame.raw, HEADER_BYTES + 4)[0])
