"""One AMQP connection, followed frame by frame: publishes, deliveries, acks, confirms, and their messages. Pure, without sockets."""

from dataclasses import dataclass, field
from itertools import takewhile
from typing import ClassVar

from chaos.injection import Message
from chaos.services.rabbitmq.frames import (
    ACK,
    BODY,
    CHANNEL_OPEN,
    CONFIRM_SELECT,
    CONSUME,
    CONSUME_OK,
    CONTENT_HEADER,
    DELIVER,
    GET,
    GET_OK,
    METHOD,
    NACK,
    PUBLISH,
    REJECT,
    RETURN,
    Frame,
    read_body_size,
    read_consumer_tag,
    read_delivery_tag,
    read_no_ack,
    read_properties,
    read_tag,
)

BODY_MAX_BYTES = 1 << 20
"""Maximum kept of one body; the rest is dropped."""
KEPT_MAX_BYTES = 64 << 20
"""Maximum kept of all unsettled bodies of one connection; beyond it, bodies are truncated."""
UNSETTLED_MAX = 20_000
"""Deliveries remembered per channel; beyond it the oldest are forgotten (their acks are counted, but their messages are unknown)."""


@dataclass(slots=True)
class Counters:
    """The traffic on a link since it was opened, without the lab's own round trips. Never decreases.

    Shows that a process used its link. Tests without faults compare it with what they sent.
    """

    connections: int = 0
    publishes: int = 0
    confirms: int = 0
    deliveries: int = 0
    acks: int = 0


@dataclass(slots=True)
class Content:
    """A message in transit: the method that announced it, its header frame, and the kept part of its body.

    `is_settled`: it was delivered without a need to acknowledge it.
    """

    method: int
    tag: int
    size: int = -1
    received: int = 0
    header: bytes = b""
    body: bytearray = field(default_factory=bytearray)
    is_settled: bool = False

    def is_complete(self) -> bool:
        """Whether the whole body has been received."""
        return self.size >= 0 and self.received >= self.size

    def message(self) -> Message:
        """As evidence. Only for the few struck messages: parsing the header costs more than everything else."""
        return Message(self.body.decode(errors="replace"), read_properties(self.header), len(self.body) < self.size)


@dataclass(frozen=True, slots=True)
class AckSent:
    """A client acknowledges one delivery, or all up to it. `contents`: the messages that are still remembered."""

    channel: int
    tag: int
    multiple: bool
    contents: tuple[Content, ...]

    in_confirm_mode: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Published:
    """A client's publish is complete with this frame. `tag`: its number in its channel."""

    channel: int
    tag: int
    in_confirm_mode: bool
    contents: tuple[Content, ...]

    multiple: ClassVar[bool] = False


@dataclass(slots=True)
class _Channel:
    published: int = 0
    in_confirm_mode: bool = False
    outgoing: Content | None = None
    incoming: Content | None = None
    unsettled: dict[int, Content] = field(default_factory=dict)
    """By delivery tag, in the order of delivery."""
    no_ack: dict[bytes, bool] = field(default_factory=dict)
    """By consumer tag: whether its deliveries need no acknowledgement. Of a `get`, and of a consumer whose tag the broker has still to
    choose, under the empty tag."""


class Conversation:
    """Follows the frames of one connection in both directions and adds to `counters`."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._channels: dict[int, _Channel] = {}
        self._kept_bytes = 0

    def follow_client(self, frame: Frame) -> AckSent | Published | None:
        """Record a frame that the client sent; returns an operation that rules may count, or None."""
        channel = self._channel(frame)
        if frame.kind == METHOD:
            return self._follow_client_method(frame, channel)
        content = channel.outgoing
        if content is None or frame.kind not in (CONTENT_HEADER, BODY):
            return None
        _grow(content, frame)
        if not content.is_complete():
            return None
        channel.outgoing = None
        return Published(frame.channel, content.tag, channel.in_confirm_mode, (content,))

    def follow_broker(self, frame: Frame) -> None:
        """Record a frame that the broker sent."""
        channel = self._channel(frame)
        if frame.kind == METHOD:
            method = frame.method
            if method in (DELIVER, GET_OK):
                self._counters.deliveries += 1
                consumer = read_consumer_tag(frame) if method == DELIVER else b""
                settled = channel.no_ack.get(consumer, False)
                channel.incoming = Content(method, read_delivery_tag(frame), is_settled=settled)
            elif method == CONSUME_OK:
                channel.no_ack.setdefault(read_consumer_tag(frame), channel.no_ack.get(b"", False))
            elif method == RETURN:
                channel.incoming = Content(method, 0)
            elif method == ACK:
                self._counters.confirms += 1
        elif channel.incoming is not None and frame.kind in (CONTENT_HEADER, BODY):
            _grow(channel.incoming, frame)
            if channel.incoming.is_complete():
                self._keep(channel, channel.incoming)
                channel.incoming = None

    def unsettled(self) -> tuple[Content, ...]:
        """The deliveries of all channels that are not settled yet."""
        return tuple(content for channel in self._channels.values() for content in channel.unsettled.values())

    def _follow_client_method(self, frame: Frame, channel: _Channel) -> AckSent | None:
        method = frame.method
        if method == PUBLISH:
            self._counters.publishes += 1
            channel.published += 1
            channel.outgoing = Content(method, channel.published)
        elif method == ACK:
            self._counters.acks += 1
            tag, multiple = read_tag(frame)
            return AckSent(frame.channel, tag, multiple, self._settle(channel, tag, multiple))
        elif method in (NACK, REJECT):
            tag, bits = read_tag(frame)
            self._settle(channel, tag, bits and method == NACK)
        elif method in (CONSUME, GET):
            channel.no_ack[read_consumer_tag(frame) if method == CONSUME else b""] = read_no_ack(frame)
        elif method == CONFIRM_SELECT:
            channel.in_confirm_mode = True
        elif method == CHANNEL_OPEN:
            self._settle(channel, 0, True)
            self._channels[frame.channel] = _Channel()
        return None

    def _keep(self, channel: _Channel, content: Content) -> None:
        if content.method == RETURN or content.is_settled:
            return
        del content.body[max(0, KEPT_MAX_BYTES - self._kept_bytes) :]
        self._kept_bytes += len(content.body)
        channel.unsettled[content.tag] = content
        if len(channel.unsettled) > UNSETTLED_MAX:
            self._forget(channel, next(iter(channel.unsettled)))

    def _settle(self, channel: _Channel, tag: int, multiple: bool) -> tuple[Content, ...]:
        """Forget the deliveries that this settles; returns their messages."""
        unsettled = channel.unsettled
        if not multiple:
            return (self._forget(channel, tag),) if tag in unsettled else ()
        tags = list(unsettled) if tag == 0 else list(takewhile(lambda one: one <= tag, unsettled))  # tag 0: all of them
        return tuple(self._forget(channel, one) for one in tags)

    def _forget(self, channel: _Channel, tag: int) -> Content:
        content = channel.unsettled.pop(tag)
        self._kept_bytes -= len(content.body)
        return content

    def _channel(self, frame: Frame) -> _Channel:
        channel = self._channels.get(frame.channel)
        if channel is None:
            channel = self._channels[frame.channel] = _Channel()
        return channel


def _grow(content: Content, frame: Frame) -> None:
    if frame.kind == CONTENT_HEADER:
        content.size = read_body_size(frame)
        content.header = frame.raw
        return
    body = frame.payload
    content.received += len(body)
    if len(content.body) < BODY_MAX_BYTES:
        content.body += body[: BODY_MAX_BYTES - len(content.body)]
