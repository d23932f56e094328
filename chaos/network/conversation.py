"""What one AMQP connection is about, followed frame by frame: publishes, deliveries, acks, confirms. Pure; touches no socket."""

from dataclasses import dataclass, field
from itertools import takewhile

from chaos.services.rabbitmq.frames import (
    ACK,
    BODY,
    CHANNEL_OPEN,
    CONFIRM_SELECT,
    CONTENT_HEADER,
    DELIVER,
    GET_OK,
    METHOD,
    NACK,
    PUBLISH,
    REJECT,
    RETURN,
    Frame,
    read_body_size,
    read_delivery_tag,
    read_tag,
)

BODY_START_CHARACTERS = 300
BODY_START_BYTES = 4 * BODY_START_CHARACTERS  # the longest they can be in UTF-8
UNSETTLED_MAX = 20_000
"""Deliveries remembered per channel; beyond it the oldest are forgotten (their acks count, but cannot be told by their body)."""


@dataclass(slots=True)
class Counters:
    """What has passed a link since it was made, its own traffic apart. Only ever grows."""

    connections: int = 0
    frames_from_client: int = 0
    frames_from_broker: int = 0
    publishes: int = 0
    confirms: int = 0
    deliveries: int = 0
    acks: int = 0


@dataclass(frozen=True, slots=True)
class AckSent:
    """A client acknowledges: one delivery, or all up to it."""

    channel: int
    tag: int
    multiple: bool
    bodies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """A client's publish is complete: its last frame is this one."""

    channel: int
    number: int
    in_confirm_mode: bool
    body: str


@dataclass(slots=True)
class _Content:
    """A message on its way: what announced it, and what has come of its body."""

    method: int
    tag: int
    size: int = -1
    received: int = 0
    start: bytearray = field(default_factory=bytearray)

    def is_complete(self) -> bool:
        return self.size >= 0 and self.received >= self.size


@dataclass(slots=True)
class _Channel:
    published: int = 0
    in_confirm_mode: bool = False
    outgoing: _Content | None = None
    incoming: _Content | None = None
    unsettled: dict[int, bytes] = field(default_factory=dict)
    """Delivery tag to the start of the body, in the order of delivery."""


class Conversation:
    """Follows the frames of one connection in both directions and adds to `counters`."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._channels: dict[int, _Channel] = {}

    def hear_client(self, frame: Frame) -> AckSent | Published | None:
        """Take note of a frame that the client sent; what rules may wait for, if it is that."""
        self._counters.frames_from_client += 1
        channel = self._channel(frame)
        if frame.kind == METHOD:
            return self._hear_client_method(frame, channel)
        content = channel.outgoing
        if content is None or frame.kind not in (CONTENT_HEADER, BODY):
            return None
        _grow(content, frame)
        if not content.is_complete():
            return None
        channel.outgoing = None
        return Published(frame.channel, content.tag, channel.in_confirm_mode, _text(content.start))

    def hear_broker(self, frame: Frame) -> None:
        """Take note of a frame that the broker sent."""
        self._counters.frames_from_broker += 1
        channel = self._channel(frame)
        if frame.kind == METHOD:
            method = frame.method
            if method in (DELIVER, GET_OK):
                self._counters.deliveries += 1
                channel.incoming = _Content(method, read_delivery_tag(frame))
            elif method == RETURN:
                channel.incoming = _Content(method, 0)
            elif method == ACK:
                self._counters.confirms += 1
        elif channel.incoming is not None and frame.kind in (CONTENT_HEADER, BODY):
            _grow(channel.incoming, frame)
            if channel.incoming.is_complete():
                self._keep(channel, channel.incoming)
                channel.incoming = None

    def _hear_client_method(self, frame: Frame, channel: _Channel) -> AckSent | None:
        method = frame.method
        if method == PUBLISH:
            self._counters.publishes += 1
            channel.published += 1
            channel.outgoing = _Content(method, channel.published)
        elif method == ACK:
            self._counters.acks += 1
            tag, multiple = read_tag(frame)
            return AckSent(frame.channel, tag, multiple, _settle(channel, tag, multiple))
        elif method in (NACK, REJECT):
            tag, bits = read_tag(frame)
            _settle(channel, tag, bits and method == NACK)
        elif method == CONFIRM_SELECT:
            channel.in_confirm_mode = True
        elif method == CHANNEL_OPEN:
            self._channels[frame.channel] = _Channel()
        return None

    def _keep(self, channel: _Channel, content: _Content) -> None:
        if content.method == RETURN:
            return
        channel.unsettled[content.tag] = bytes(content.start)
        if len(channel.unsettled) > UNSETTLED_MAX:
            del channel.unsettled[next(iter(channel.unsettled))]

    def _channel(self, frame: Frame) -> _Channel:
        channel = self._channels.get(frame.channel)
        if channel is None:
            channel = self._channels[frame.channel] = _Channel()
        return channel


def _grow(content: _Content, frame: Frame) -> None:
    if frame.kind == CONTENT_HEADER:
        content.size = read_body_size(frame)
        return
    body = frame.payload
    content.received += len(body)
    if len(content.start) < BODY_START_BYTES:
        content.start += body[: BODY_START_BYTES - len(content.start)]


def _settle(channel: _Channel, tag: int, multiple: bool) -> tuple[str, ...]:
    """Forget the deliveries that are settled now; how their messages begin."""
    unsettled = channel.unsettled
    if not multiple:
        start = unsettled.pop(tag, None)
        return () if start is None else (_text(start),)
    tags = list(unsettled) if tag == 0 else list(takewhile(lambda one: one <= tag, unsettled))  # tag 0: all of them
    return tuple(_text(unsettled.pop(one)) for one in tags)


def _text(start: bytes | bytearray) -> str:
    return start.decode(errors="replace")[:BODY_START_CHARACTERS]
