"""One relayed connection: two sockets, what waits to be sent to each, and what a rule does to it."""

import selectors
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from chaos.network.conversation import AckSent, Conversation, Counters, Published
from chaos.network.rules import ArmedRule, Firing, FreezeAtNthPublish, SwallowNthAck
from chaos.services.rabbitmq.frames import Frame, Splitter

RECEIVE_BYTES = 1 << 16
PENDING_MAX_BYTES = 1 << 20
"""What may wait for one side before the other is no longer read from."""

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of no time: closing the socket resets the connection, as a peer that died would."""

Watch = Callable[[socket.socket, int, Callable[[int], None]], None]


class Way(Protocol):
    """What a connection needs of the link that it belongs to."""

    upstream: tuple[str, int]
    armed: ArmedRule | None
    counted: Counters
    is_frozen: bool

    def freeze(self) -> None:
        """Let nothing pass any more, on any connection."""

    def forget(self, connection: "RelayedConnection") -> None:
        """The connection is over."""


class Side:
    """One of the two sockets, the frames that come out of it, and the bytes that wait to go into it."""

    def __init__(self, end: socket.socket, splitter: Splitter) -> None:
        self.socket = end
        self.splitter = splitter
        self.pending = bytearray()
        self.has_ended = False
        """Whether its peer has said that nothing more will come out of it."""
        self.is_shut = False
        """Whether we have told its peer that nothing more will go into it."""
        self.events = 0

    def send_pending(self) -> None:
        """Send as much as goes now."""
        if self.pending:
            with suppress(BlockingIOError):
                del self.pending[: self.socket.send(self.pending)]


class RelayedConnection:
    """Relays between one client and the broker. All methods run on the relay's thread."""

    def __init__(self, link: Way, watch: Watch, client: socket.socket, *, counts: bool) -> None:
        self._link = link
        self._watch = watch
        self._conversation = Conversation(link.counted) if counts else None
        self._firing: tuple[ArmedRule, Firing] | None = None
        self._is_connecting = True
        self._is_dying = False
        self._is_over = False
        self._client = Side(client, Splitter(preamble=True))
        self._broker = Side(socket.socket(), Splitter(preamble=False))
        for side in (self._client, self._broker):
            side.socket.setblocking(False)
            side.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start(self) -> None:
        """Connect to the broker, unless nothing is to pass; a broker that is not there cuts the client off."""
        try:
            if not self._link.is_frozen:
                self._broker.socket.connect(self._link.upstream)
        except BlockingIOError:
            pass  # under way
        except OSError:
            self.cut()
        self.update()

    def update(self) -> None:
        """Watch for what is possible now: reading where nothing is frozen or piled up, writing where something waits."""
        if self._is_over:
            return
        for side, other in ((self._client, self._broker), (self._broker, self._client)):
            events = 0
            if not (
                side.has_ended or self._is_connecting or len(other.pending) > PENDING_MAX_BYTES or self._link.is_frozen
            ):
                events |= selectors.EVENT_READ
            if side.pending or (side is self._broker and self._is_connecting and not self._link.is_frozen):
                events |= selectors.EVENT_WRITE
            if events != side.events:
                side.events = events
                self._watch(side.socket, events, self._ready_client if side is self._client else self._ready_broker)

    def cut(self) -> None:
        """End it now, as if the other end had died: both sides are reset."""
        for side in (self._client, self._broker):
            with suppress(OSError):
                side.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._close()

    def _ready_client(self, events: int) -> None:
        self._ready(self._client, self._broker, events)

    def _ready_broker(self, events: int) -> None:
        self._ready(self._broker, self._client, events)

    def _ready(self, side: Side, other: Side, events: int) -> None:
        if side.socket.fileno() < 0:
            return
        try:
            if self._is_connecting:
                self._finish_connecting()
            elif (
                events & selectors.EVENT_READ and not self._link.is_frozen
            ):  # it may have been frozen for an event before this
                self._receive(side, other)
            self._flush()
        except BlockingIOError:
            pass  # there was nothing to read after all
        except OSError:  # refused, reset: the other side shall see the same
            self.cut()
        self.update()

    def _finish_connecting(self) -> None:
        error = self._broker.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, "the broker is not there")
        self._is_connecting = False

    def _receive(self, side: Side, other: Side) -> None:
        received = side.socket.recv(RECEIVE_BYTES)
        if not received:
            side.has_ended = True
            return
        if self._is_dying and side is self._broker:
            return  # what the broker still says to a client that is cut off
        for frame in side.splitter.feed(received):
            if not self._passes(side, frame):
                return
            other.pending += frame.raw
            if self._link.is_frozen:
                return
        if side.splitter.is_blind:
            other.pending += side.splitter.take_unfinished()

    def _passes(self, side: Side, frame: Frame) -> bool:
        """Take note of the frame; whether it is to be passed on."""
        if self._conversation is None:
            return True
        try:
            if side is self._broker:
                self._conversation.hear_broker(frame)
                return True
            heard = self._conversation.hear_client(frame)
        except (struct.error, IndexError):  # a frame that says less than it must: the broker's business, not ours
            return True
        armed = self._link.armed
        if heard is None or armed is None:
            return True
        match heard, armed.rule:
            case AckSent(channel, tag, multiple, bodies), SwallowNthAck():
                if armed.counts_to():
                    self._die(armed, Firing(armed.rule, channel, tag, multiple=multiple, bodies=bodies))
                    return False
            case Published(channel, number, in_confirm_mode, body), FreezeAtNthPublish():
                if armed.counts_to():
                    bodies = (body,) if body else ()
                    self._firing = (
                        armed,
                        Firing(armed.rule, channel, number, in_confirm_mode=in_confirm_mode, bodies=bodies),
                    )
                    self._link.freeze()
        return True

    def _die(self, armed: ArmedRule, firing: Firing) -> None:
        """The ack is swallowed: the broker still gets all that came before it, the client is cut off at once."""
        armed.fire(firing)
        self._is_dying = True
        self._client.has_ended = True
        self._client.events = 0
        self._watch(self._client.socket, 0, self._ready_client)
        with suppress(OSError):
            self._client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._client.socket.close()

    def _flush(self) -> None:
        """Send what waits; then say to each side that nothing more will come, where the other has said so."""
        for side, other in ((self._client, self._broker), (self._broker, self._client)):
            if self._is_dying and side is self._client:
                side.pending.clear()
                side.is_shut = (
                    other.has_ended
                )  # the broker may still be reading: a reset could cost it what came before the ack
                continue
            side.send_pending()
            if other.has_ended and not side.pending and not side.is_shut:
                side.is_shut = True
                with suppress(OSError):
                    side.socket.shutdown(socket.SHUT_WR)
        if self._firing is not None and not self._broker.pending:
            armed, firing = self._firing
            self._firing = None
            armed.fire(firing)
        if self._client.is_shut and self._broker.is_shut:
            self._close()

    def _close(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        for side, ready in ((self._client, self._ready_client), (self._broker, self._ready_broker)):
            if side.socket.fileno() >= 0:
                self._watch(side.socket, 0, ready)
                side.socket.close()
        self._link.forget(self)
