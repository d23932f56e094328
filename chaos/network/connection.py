"""One relayed connection: two sockets, the bytes queued for each, and the effect of a rule."""

import selectors
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from chaos.network.conversation import AckSent, Content, Conversation, Counters, Published
from chaos.network.rules import ArmedRule, Firing, Rule
from chaos.services.rabbitmq.frames import Frame, Splitter

RECEIVE_BYTES = 1 << 16
PENDING_MAX_BYTES = 1 << 20
"""Maximum number of bytes queued for one side; beyond it, the other side is not read."""

INTERRUPTED_MAX = 10_000
"""Maximum number of interrupted deliveries kept of one link."""

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with time 0: closing the socket resets the connection, as when the peer dies."""

Watch = Callable[[socket.socket, int, Callable[[int], None]], None]


class LinkState:
    """State shared by the connections of one link: target, armed rules, and the rules that froze it. On the relay's thread only."""

    def __init__(self, upstream: tuple[str, int]) -> None:
        self.upstream = upstream
        self.armed: list[ArmedRule] = []
        self.counted = Counters()
        self.frozen_by: list[ArmedRule] = []
        """While it is not empty, nothing passes on any connection, open or new."""
        self.connections: set[RelayedConnection] = set()
        self.interrupted: list[tuple[int, tuple[Content, ...]]] = []
        """Of each connection that ended with unsettled deliveries: when, on the monotonic clock, and these."""
        self.interrupted_count = 0

    def freeze(self, armed: ArmedRule) -> None:
        """Stop all traffic on every connection."""
        self.frozen_by.append(armed)
        for connection in self.connections:
            connection.update()

    def thaw(self, armed: ArmedRule) -> int:
        """End the freeze of one rule; if no other is left, cut the frozen connections and accept new ones. Returns how many were cut."""
        if armed not in self.frozen_by:
            return 0
        self.frozen_by.remove(armed)
        frozen = [] if self.frozen_by else list(self.connections)
        for connection in frozen:
            connection.cut()
        return len(frozen)


class Side:
    """One of the two sockets, the frames received from it, and the bytes queued for it."""

    def __init__(self, end: socket.socket, splitter: Splitter) -> None:
        self.socket = end
        self.splitter = splitter
        self.pending = bytearray()
        self.has_ended = False
        """Whether its peer has ended its stream: nothing more will be received."""
        self.is_shut = False
        """Whether the stream to its peer has been ended: nothing more is sent."""
        self.events = 0

    def send_pending(self) -> None:
        """Send as much as the socket accepts now."""
        if self.pending:
            with suppress(BlockingIOError):
                del self.pending[: self.socket.send(self.pending)]


class RelayedConnection:
    """Relays between one client and the broker. All methods run on the relay's thread."""

    def __init__(self, link: LinkState, watch: Watch, client: socket.socket, *, counts: bool) -> None:
        self._link = link
        self._watch = watch
        self._conversation = Conversation(link.counted) if counts else None
        self._firings: list[tuple[ArmedRule, Firing]] = []
        """For publishes that have not been forwarded completely."""
        self._is_connecting = True
        self._client_is_cut = False
        self._is_over = False
        self._client = Side(client, Splitter(preamble=True))
        self._broker = Side(socket.socket(), Splitter(preamble=False))
        for side in (self._client, self._broker):
            side.socket.setblocking(False)
            side.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start(self) -> None:
        """Connect to the broker, unless the link is frozen; if there is no broker, cut the client's connection."""
        try:
            if not self._link.frozen_by:
                self._broker.socket.connect(self._link.upstream)
        except BlockingIOError:
            pass  # in progress
        except OSError:
            self.cut()
        self.update()

    def update(self) -> None:
        """Watch for reading unless frozen or the other queue is full, and for writing if bytes are queued."""
        if self._is_over:
            return
        for side, other in ((self._client, self._broker), (self._broker, self._client)):
            events = 0
            if not (
                side.has_ended or self._is_connecting or len(other.pending) > PENDING_MAX_BYTES or self._link.frozen_by
            ):
                events |= selectors.EVENT_READ
            if side.pending or (side is self._broker and self._is_connecting and not self._link.frozen_by):
                events |= selectors.EVENT_WRITE
            if events != side.events:
                side.events = events
                self._watch(side.socket, events, self._ready_client if side is self._client else self._ready_broker)

    def cut(self) -> None:
        """Reset both sides, as if the other end had died."""
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
            elif events & selectors.EVENT_READ and not self._link.frozen_by:  # an earlier event may have frozen it
                self._receive(side, other)
            self._flush()
        except BlockingIOError:
            pass  # a spurious event
        except OSError:  # refused, or reset: the other side gets the same
            self.cut()
        self.update()

    def _finish_connecting(self) -> None:
        error = self._broker.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, "no broker accepts connections")
        self._is_connecting = False

    def _receive(self, side: Side, other: Side) -> None:
        received = side.socket.recv(RECEIVE_BYTES)
        if not received:
            side.has_ended = True
            self._note_interrupted()
            return
        if self._client_is_cut and side is self._broker:
            return  # the client's connection is cut
        for frame in side.splitter.feed(received):
            if not self._forwards(side, frame):
                return
            other.pending += frame.raw
            if self._link.frozen_by:
                return
        if side.splitter.is_opaque:
            other.pending += side.splitter.take_unfinished()

    def _forwards(self, side: Side, frame: Frame) -> bool:
        """Record the frame; whether it is forwarded."""
        if self._conversation is None:
            return True
        try:
            if side is self._broker:
                self._conversation.follow_broker(frame)
                return True
            operation = self._conversation.follow_client(frame)
        except (struct.error, IndexError):  # a malformed frame: the broker deals with it
            return True
        if operation is None or not self._link.armed:
            return True
        return self._apply_rules(operation)

    def _apply_rules(self, operation: AckSent | Published) -> bool:
        """Let every armed rule count the operation, and fire those that it completes; whether it is forwarded."""
        counting = [armed for armed in self._link.armed if isinstance(operation, armed.rule.counts)]
        due = [armed for armed in counting if armed.count()]
        if not due:
            return True
        firings = [(armed, _firing(armed.rule, operation)) for armed in due]
        if isinstance(operation, AckSent):
            self._cut_client(firings)
            return False
        self._firings += firings
        for armed in due:
            self._link.freeze(armed)
        return True

    def _cut_client(self, firings: list[tuple[ArmedRule, Firing]]) -> None:
        """Swallow the ack: the broker still gets all earlier frames, the client's connection is cut at once."""
        for armed, firing in firings:
            armed.fire(firing)
        self._note_interrupted()
        self._client_is_cut = True
        self._client.has_ended = True
        self._client.events = 0
        self._watch(self._client.socket, 0, self._ready_client)
        with suppress(OSError):
            self._client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._client.socket.close()

    def _note_interrupted(self) -> None:
        """At the first sign of its end: the deliveries that are not settled; acks that come later do not reach the broker."""
        conversation, self._conversation = self._conversation, None
        unsettled = () if conversation is None else conversation.unsettled()
        room = INTERRUPTED_MAX - self._link.interrupted_count
        if unsettled and room > 0:
            self._link.interrupted.append((time.monotonic_ns(), unsettled[:room]))
            self._link.interrupted_count += len(unsettled)

    def _flush(self) -> None:
        """Send queued bytes; then end the stream to each side whose other side has ended."""
        for side, other in ((self._client, self._broker), (self._broker, self._client)):
            if self._client_is_cut and side is self._client:
                side.pending.clear()
                # The broker may still be reading: a reset could drop the frames before the ack.
                side.is_shut = other.has_ended
                continue
            side.send_pending()
            if other.has_ended and not side.pending and not side.is_shut:
                side.is_shut = True
                with suppress(OSError):
                    side.socket.shutdown(socket.SHUT_WR)
        if self._firings and not self._broker.pending:
            firings, self._firings = self._firings, []
            for armed, firing in firings:
                armed.fire(firing)
        if self._client.is_shut and self._broker.is_shut:
            self._close()

    def _close(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._note_interrupted()
        for side, ready in ((self._client, self._ready_client), (self._broker, self._ready_broker)):
            if side.socket.fileno() >= 0:
                self._watch(side.socket, 0, ready)
                side.socket.close()
        self._link.connections.discard(self)


def _firing(rule: Rule, operation: AckSent | Published) -> Firing:
    return Firing(
        rule,
        operation.channel,
        operation.tag,
        multiple=operation.multiple,
        in_confirm_mode=operation.in_confirm_mode,
        messages=tuple(content.message() for content in operation.contents),
        at_ns=time.monotonic_ns(),
    )
