"""The AMQP relay: one thread between processes and RabbitMQ that forwards every byte, except where a rule applies.

Each process has its own `Link`: a loopback port, counters, and armed rules. Frames are parsed to follow the conversation;
the bytes are forwarded unchanged. Other protocols (TLS, for example) are forwarded without parsing.
"""

import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from chaos.injection import Interruption
from chaos.network.connection import LinkState, RelayedConnection
from chaos.network.conversation import Counters
from chaos.network.rules import ArmedRule, Rule
from chaos.ports import LOOPBACK

BACKLOG = 256
CALL_TIMEOUT_S = 10.0

Result = TypeVar("Result")
Ready = Callable[[int], None]
"""Called by the loop for a ready socket, with its events."""


class Relay:
    """The thread, and the links that it serves. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._calls: deque[Callable[[], None]] = deque()
        self._wakeup, self._wakeup_in = socket.socketpair()
        self._wakeup.setblocking(False)
        self._selector.register(self._wakeup, selectors.EVENT_READ, self._on_wakeup)
        self._links: list[Link] = []
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)
        self._thread.start()

    def open_link(self, name: str, upstream: tuple[str, int], *, port: int, health_port: int) -> "Link":
        """A new link from two loopback ports to a broker; see `Link`."""
        return self.call(lambda: self._open(name, upstream, port, health_port))

    def close(self) -> None:
        """Cut every connection, stop listening, end the thread. Idempotent."""
        if self._thread.is_alive():
            with suppress(TimeoutError):
                self.call(self._end)
            self._thread.join(CALL_TIMEOUT_S)

    def call(self, work: Callable[[], Result]) -> Result:
        """The result of `work`, executed on the relay's thread, so that no state changes meanwhile."""
        done: Future[Result] = Future()

        def do() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001  raised again in the calling thread
                done.set_exception(error)

        self._calls.append(do)
        self._wakeup_in.send(b"\0")
        return done.result(CALL_TIMEOUT_S)

    def watch(self, watched: socket.socket, events: int, ready: Ready) -> None:
        """From now on call `ready` for these events of a socket; 0: stop watching. On the relay's thread only."""
        known = watched.fileno() in self._selector.get_map()
        if not events:
            if known:
                self._selector.unregister(watched)
        elif known:
            self._selector.modify(watched, events, ready)
        else:
            self._selector.register(watched, events, ready)

    def _open(self, name: str, upstream: tuple[str, int], port: int, health_port: int) -> "Link":
        link = Link(self, name, upstream, port, health_port)
        self._links.append(link)
        return link

    def _end(self) -> None:
        for link in self._links:
            link.shut()
        self._is_over = True

    def _on_wakeup(self, _: int) -> None:
        self._wakeup.recv(1 << 12)
        while self._calls:
            self._calls.popleft()()

    def _run(self) -> None:
        while not self._is_over:
            for key, events in self._selector.select():
                key.data(events)  # an earlier event may have closed its socket
        self._selector.close()
        self._wakeup.close()
        self._wakeup_in.close()


class Link:
    """The link of one process to the broker: connections to `address` are relayed, counted, and subject to the armed rules.

    `health_address` is for the lab's own round trips: it freezes with the link, but is neither counted nor subject to rules.
    """

    def __init__(self, relay: Relay, name: str, upstream: tuple[str, int], port: int, health_port: int) -> None:
        self.name = name
        self.address = (LOOPBACK, port)
        self.health_address = (LOOPBACK, health_port)
        self._relay = relay
        self._state = LinkState(upstream)
        self._listeners = [_listen(self.address), _listen(self.health_address)]
        for listener, counts in zip(self._listeners, (True, False), strict=True):
            relay.watch(listener, selectors.EVENT_READ, self._accepts(listener, counts))

    def counters(self) -> Counters:
        """The traffic so far."""
        return self._relay.call(lambda: replace(self._state.counted))

    def interruptions(self) -> list[Interruption]:
        """The connections that ended with unsettled deliveries, so far, in the order of time."""
        ended = self._relay.call(lambda: list(self._state.interrupted))
        return [Interruption(self.name, at_ns, tuple(one.message() for one in contents)) for at_ns, contents in ended]

    def arm(self, rule: Rule) -> ArmedRule:
        """Arm a rule: it counts its operations from now on. Several rules may be armed; each has its own count."""
        armed = ArmedRule(rule)
        self._relay.call(lambda: self._state.armed.append(armed))
        return armed

    def disarm(self, armed: ArmedRule) -> None:
        """Disarm a rule. Idempotent."""

        def take() -> None:
            if armed in self._state.armed:
                self._state.armed.remove(armed)

        self._relay.call(take)

    def thaw(self, armed: ArmedRule) -> int:
        """End the freeze of one rule: cut frozen connections (held bytes are lost), accept new ones; returns how many were cut.

        While another rule keeps the link frozen, no connection is cut.
        """
        return self._relay.call(lambda: self._state.thaw(armed))

    def close(self) -> None:
        """Cut every connection and stop listening. Idempotent."""
        self._relay.call(self.shut)

    def shut(self) -> None:
        """`close`, for callers on the relay's thread."""
        for listener in self._listeners:
            self._relay.watch(listener, 0, _nothing)
            listener.close()
        self._listeners.clear()
        for connection in list(self._state.connections):
            connection.cut()

    def _accepts(self, listener: socket.socket, counts: bool) -> Ready:
        def accept(_: int) -> None:
            # The client is already gone, or the lab is out of file descriptors: the connection is refused.
            with suppress(OSError):
                client, _address = listener.accept()
                if counts:
                    self._state.counted.connections += 1
                connection = RelayedConnection(self._state, self._relay.watch, client, counts=counts)
                self._state.connections.add(connection)
                connection.start()

        return accept


def _listen(address: tuple[str, int]) -> socket.socket:
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _nothing(_: int) -> None:
    """The callback of a socket that is no longer watched."""
