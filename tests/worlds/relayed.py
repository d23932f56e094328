"""A relay between clients and a broker that the test plays itself: what goes in at one end, and what comes out at the other."""

import socket
from contextlib import suppress

from chaos.network.relay import Link, Relay
from chaos.ports import LOOPBACK, PortAllocator

PATIENCE_S = 20.0
SILENCE_S = 0.2


class Broker:
    """A listener on a port that hands out its connections and sends nothing by itself."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server((LOOPBACK, port))
        self._listener.settimeout(PATIENCE_S)
        self.connections: list[socket.socket] = []

    def accept(self) -> socket.socket:
        connection, _ = self._listener.accept()
        connection.settimeout(PATIENCE_S)
        self.connections.append(connection)
        return connection

    def close(self) -> None:
        self._listener.close()
        for connection in self.connections:
            connection.close()


class RelayedWorld:
    """A relay with one link, clients that connect through it, and the broker behind it."""

    def __init__(self) -> None:
        self.ports = PortAllocator()
        self.broker_port = self.ports.allocate()
        self.broker = Broker(self.broker_port)
        self.relay = Relay()
        self.clients: list[socket.socket] = []
        self.link: Link = self.relay.open_link(
            "worker-1", (LOOPBACK, self.broker_port), port=self.ports.allocate(), health_port=self.ports.allocate()
        )

    def connect(self, address: tuple[str, int] | None = None) -> socket.socket:
        client = socket.create_connection(address or self.link.address, timeout=PATIENCE_S)
        self.clients.append(client)
        return client

    def pair(self) -> tuple[socket.socket, socket.socket]:
        return self.connect(), self.broker.accept()

    def close(self) -> None:
        self.relay.close()
        self.broker.close()
        for client in self.clients:
            client.close()
        self.ports.close()


def read(end: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        piece = end.recv(1 << 16)
        assert piece, f"hung up after {len(received)} of {size} bytes"
        received += piece
    return bytes(received)


def read_to_the_end(end: socket.socket) -> bytes:
    received = b""
    with suppress(ConnectionResetError):
        while piece := end.recv(1 << 16):
            received += piece
    return received


def is_silent(end: socket.socket) -> bool:
    end.settimeout(SILENCE_S)
    try:
        return bool(end.recv(1) is None)
    except TimeoutError:
        return True
    finally:
        end.settimeout(PATIENCE_S)


def is_cut(end: socket.socket) -> bool:
    try:
        return end.recv(1) == b""
    except ConnectionResetError:
        return True


def is_refused_or_cut(world: RelayedWorld) -> bool:
    try:
        return is_cut(world.connect())
    except ConnectionError:
        return True
