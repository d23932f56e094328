"""One relayed connection: two sockets, the bytes that wait to be sent to each, and the effect of a rule."""

import selectors
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from chaos.network.conversation import AckSent, Conversation, Counters, Published
from chaos.network.rules import ArmedRule, Firing, Rule
from chaos.services.rabbitmq.frames import Frame, Splitter

RECEIVE_BYTES = 1 << 16
PENDING_MAX_BYTES = 1 << 20
"""Maximum of bytes that wait for one side; beyond it, the other side is not read."""

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of no time: closing the socket resets the connection, like a peer that died."""

Watch = Callable[[socket.socket, int, Callable[[int], None]], None]


class LinkState:
    """What the connections of one link share: where they lead, the rules armed, and what froze them. On the relay's thread only."""

    def __init__(self, upstream: tuple[str, int]) -> None:
        self.upstream = upstream
        self.armed: list[ArmedRule] = []
        self.counted = Counters()
        self.frozen_by: list[ArmedRule] = []
        """While there is one, nothing passes on any connection, open or new."""
        self.connections: set[RelayedConnection] = set()

    def freeze(self, armed: ArmedRule) -> None:
        """Let nothing pass any more, on any connection."""
        self.frozen_by.append(armed)
        for connection in self.connections:
            connection.update()

    def thaw(self, armed: ArmedRule) -> int:
        """End the freeze of one rule; without another one, cut the frozen connections and let new ones through. How many were cut."""
        if armed not in self.frozen_by:
            return 0
        self.frozen_by.remove(armed)
        frozen = [] if self.frozen_by else list(self.connections)
        for connection in frozen:
            connection.cut()
        return len(frozen)


class Side:
    """One of the two sockets, the frames that come out of it, and the bytes that wait to go into it."""

    def __init__(self, end: socket.socket, splitter: Splitter) -> None:
        self.socket = end
        self.splitter = splitter
        self.pending = bytearray()
        self.has_ended = False
        """Whether its peer has ended its stream: nothing more will come out of it."""
        self.is_shut = False
        """Whether the stream to its peer has been ended: nothing more goes into it."""
        self.events = 0

    def send_pending(self) -> None:
        """Send as much as goes now."""
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
        """Of publishes that have not all been sent on yet."""
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
            if not self._link.frozen_by:
                self._broker.socket.connect(self._link.upstream)
        except BlockingIOError:
            pass  # under way
        except OSError:
            self.cut()
        self.update()

    def update(self) -> None:
        """Watch for reading where nothing is frozen or piled up, and for writing where bytes wait."""
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
                events & selectors.EVENT_READ and not self._link.frozen_by
            ):  # it may have been frozen for an event before this
                self._receive(side, other)
            self._flush()
        except BlockingIOError:
            pass  # there was nothing to read after all
        except OSError:  # refused, or reset: the other side has to see the same
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
            return
        if self._is_dying and side is self._broker:
            return  # bytes from the broker to a client that is cut off
        for frame in side.splitter.feed(received):
            if not self._passes(side, frame):
                return
            other.pending += frame.raw
            if self._link.frozen_by:
                return
        if side.splitter.is_blind:
            other.pending += side.splitter.take_unfinished()

    def _passes(self, side: Side, frame: Frame) -> bool:
        """Take note of the frame; whether it is to be passed on."""
        if self._conversation is None:
            return True
        try:
            if side is self._broker:
                self._conversation.follow_broker(frame)
                return True
            operation = self._conversation.follow_client(frame)
        except (struct.error, IndexError):  # an incomplete frame: the broker decides about it, not the lab
            return True
        if operation is None or not self._link.armed:
            return True
        return self._obey_rules(operation)

    def _obey_rules(self, operation: AckSent | Published) -> bool:
        """Have every armed rule count the operation, and fire those that waited for it; whether it is to be passed on."""
        counting = [armed for armed in self._link.armed if isinstance(operation, armed.rule.counts)]
        due = [armed for armed in counting if armed.counts_to()]
        if not due:
            return True
        assert self._conversation is not None, "an operation was read from it"
        firings = [(armed, _firing(armed.rule, operation, self._conversation)) for armed in due]
        if isinstance(operation, AckSent):
            self._die(firings)
            return False
        self._firings += firings
        for armed in due:
            self._link.freeze(armed)
        return True

    def _die(self, firings: list[tuple[ArmedRule, Firing]]) -> None:
        """The ack is swallowed: the broker still gets all that came before it, the client is cut off at once."""
        for armed, firing in firings:
            armed.fire(firing)
        self._is_dying = True
        self._client.has_ended = True
        self._client.events = 0
        self._watch(self._client.socket, 0, self._ready_client)
        with suppress(OSError):
            self._client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._client.socket.close()

    def _flush(self) -> None:
        """Send what waits; then end the stream to each side whose other side has ended its own."""
        for side, other in ((self._client, self._broker), (self._broker, self._client)):
            if self._is_dying and side is self._client:
                side.pending.clear()
                # The broker may still be reading: a reset could cost it the frames before the ack.
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
        for side, ready in ((self._client, self._ready_client), (self._broker, self._ready_broker)):
            if side.socket.fileno() >= 0:
                self._watch(side.socket, 0, ready)
                side.socket.close()
        self._link.connections.discard(self)


def _firing(rule: Rule, operation: AckSent | Published, conversation: Conversation) -> Firing:
    cut_off = conversation.unsettled() if isinstance(operation, AckSent) else ()
    return Firing(
        rule,
        operation.channel,
        operation.tag,
        multiple=operation.multiple,
        in_confirm_mode=operation.in_confirm_mode,
        messages=tuple(content.message() for content in operation.contents),
        at_ns=time.monotonic_ns(),
        interrupted=tuple(content.message() for content in cut_off),
    )
