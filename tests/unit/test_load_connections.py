"""Connections of the load generator: kept alive, never a request twice, and honest about what may have been received."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from loadtests import connections
from loadtests.connections import Connections, NoAnswer, NotSent, Response

OK = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"
CLOSING = b"HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
HEADERS = {"Content-Type": "application/json"}
TIMEOUT_S = 5.0

Answering = Callable[[socket.socket, int], None]


class Server:
    """Takes connections on a loopback port; hands each whole request to `answer`, with its number over all connections."""

    def __init__(self, answer: Answering) -> None:
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._held: list[socket.socket] = []
        self.connections = 0
        self.requests = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self._held:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            self._held.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        received = b""
        try:
            while piece := connection.recv(65536):
                received += piece
                if received.endswith(b"body"):
                    received = b""
                    self.requests += 1
                    self._answer(connection, self.requests)
        except OSError:
            return


@contextmanager
def serving(answer: Answering) -> Iterator[Server]:
    server = Server(answer)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def connected(server: Server) -> Iterator[Connections]:
    with closing(Connections(server.url, timeout_s=TIMEOUT_S)) as to:
        yield to


def post(to: Connections) -> Response:
    return to.post("/tasks", b"body", HEADERS)


def test_requests_one_after_the_other_share_one_connection() -> None:
    with serving(lambda connection, _: connection.sendall(OK)) as server, connected(server) as to:
        answers = [post(to) for _ in range(5)]

        assert answers == [Response(202, b"{}")] * 5
        assert (server.connections, server.requests) == (1, 5)


def test_a_request_waits_for_no_other() -> None:
    both = threading.Barrier(2)

    def answer(connection: socket.socket, _: int) -> None:
        both.wait(TIMEOUT_S)  # neither is answered before both have come
        connection.sendall(OK)

    with serving(answer) as server, connected(server) as to:
        answers: list[Response] = []
        askers = [threading.Thread(target=lambda: answers.append(post(to))) for _ in range(2)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()

        assert answers == [Response(202, b"{}")] * 2
        assert server.connections == 2


def test_nobody_listening_means_that_nothing_was_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(NotSent):
        post(Connections(f"http://127.0.0.1:{port}", timeout_s=TIMEOUT_S))


def test_a_request_that_is_hung_up_on_may_have_been_received_and_is_not_sent_again() -> None:
    with serving(lambda connection, _: connection.shutdown(socket.SHUT_RDWR)) as server:
        with pytest.raises(NoAnswer):
            post(Connections(server.url, timeout_s=TIMEOUT_S))

        assert server.requests == 1


def test_a_kept_connection_that_is_hung_up_on_repeats_nothing_either() -> None:
    def answer(connection: socket.socket, number: int) -> None:
        if number == 1:
            connection.sendall(OK)
        else:
            connection.shutdown(socket.SHUT_RDWR)

    with serving(answer) as server, connected(server) as to:
        post(to)

        with pytest.raises(NoAnswer):
            post(to)

        assert (server.connections, server.requests) == (1, 2)


def test_an_answer_that_takes_too_long_leaves_it_open_what_happened() -> None:
    with serving(lambda _connection, _number: None) as server, pytest.raises(NoAnswer):
        post(Connections(server.url, timeout_s=0.05))


def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    with serving(lambda connection, _: connection.sendall(CLOSING)) as server, connected(server) as to:
        answers = [post(to), post(to)]

        assert answers == [Response(202, b"{}")] * 2
        assert server.connections == 2


def test_a_connection_that_was_hung_up_on_while_it_rested_is_not_used_again() -> None:
    answered, hung_up = threading.Event(), threading.Event()

    def answer(connection: socket.socket, number: int) -> None:
        connection.sendall(OK)
        if number == 1:
            answered.wait(TIMEOUT_S)
            connection.shutdown(socket.SHUT_RDWR)
            hung_up.set()

    with serving(answer) as server, connected(server) as to:
        post(to)
        answered.set()
        assert hung_up.wait(TIMEOUT_S)

        assert post(to) == Response(202, b"{}")
        assert server.connections == 2


def test_a_connection_that_rested_too_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_MAX_S", -1.0)
    with serving(lambda connection, _: connection.sendall(OK)) as server, connected(server) as to:
        answers = [post(to), post(to)]

        assert answers == [Response(202, b"{}")] * 2
        assert server.connections == 2


@pytest.mark.parametrize("address", ["https://127.0.0.1:1", "127.0.0.1:80", "http://"])
def test_only_plain_http_addresses_are_taken(address: str) -> None:
    with pytest.raises(ValueError, match="is not an http:// address"):
        Connections(address, timeout_s=TIMEOUT_S)
