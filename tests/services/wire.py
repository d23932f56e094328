"""A TCP proxy of a few lines that a test can hold up, feed and cut: what a network does to one client of a real service."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

CHUNK_BYTES = 1 << 16


class Wire:
    """Listens on a loopback port and passes bytes on to `upstream`, in both directions, until told otherwise."""

    def __init__(self, upstream: tuple[str, int]) -> None:
        self._upstream = upstream
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._flows = threading.Event()
        self._flows.set()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads: list[threading.Thread] = []
        self._is_requested: Callable[[bytes], bool] | None = None
        self._is_delivered = True
        self._holds_at: Callable[[bytes], bool] | None = None
        self.requests: list[bytes] = []
        """What clients sent, as it came."""
        self.cuts = 0
        """How often a connection was cut at its request."""
        self._start(self._accept)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listener.getsockname()[1]

    def hold_answers(self) -> None:
        """From now on nothing that the service says arrives."""
        self._flows.clear()

    def hold_answers_at(self, is_requested: Callable[[bytes], bool]) -> None:
        """As `hold_answers`, from the next such request on."""
        self._holds_at = is_requested

    def let_answers_through(self) -> None:
        """What was held arrives, and what follows."""
        self._flows.set()

    def say_as_the_service(self, data: bytes) -> None:
        """Have these bytes arrive at every client as if the service had sent them."""
        for client, _ in self._pairs:
            client.sendall(data)

    def cut_at(self, is_requested: Callable[[bytes], bool], *, delivered: bool) -> None:
        """Cut the connection at the next such request, once: before it arrives, or when its answer has come, which then is lost."""
        self._is_requested = is_requested
        self._is_delivered = delivered

    def cut_all(self) -> None:
        """Cut every connection now."""
        for pair in self._pairs:
            _cut(pair)

    def close(self) -> None:
        """Cut everything and listen no longer."""
        self._flows.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()
        for thread in self._threads:
            thread.join()
        for pair in self._pairs:
            for end in pair:
                end.close()

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    service = socket.create_connection(self._upstream)
                except OSError:
                    client.close()
                    continue
                pair = client, service
                self._pairs.append(pair)
                lost_answer = threading.Event()
                self._start(self._pass_requests, pair, lost_answer)
                self._start(self._pass_answers, pair, lost_answer)

    def _pass_requests(self, pair: tuple[socket.socket, socket.socket], lost_answer: threading.Event) -> None:
        client, service = pair
        with suppress(OSError):
            while data := client.recv(CHUNK_BYTES):
                self.requests.append(data)
                if self._holds_at is not None and self._holds_at(data):
                    self._holds_at = None
                    self._flows.clear()
                if self._is_requested is not None and self._is_requested(data):
                    self._is_requested = None
                    if not self._is_delivered:
                        self.cuts += 1
                        break
                    lost_answer.set()
                service.sendall(data)
        _cut(pair)

    def _pass_answers(self, pair: tuple[socket.socket, socket.socket], lost_answer: threading.Event) -> None:
        client, service = pair
        with suppress(OSError):
            while data := service.recv(CHUNK_BYTES):
                self._flows.wait()
                if lost_answer.is_set():
                    self.cuts += 1
                    break
                client.sendall(data)
        _cut(pair)


def _cut(pair: tuple[socket.socket, socket.socket]) -> None:
    for end in pair:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
