"""The outside resource on a loopback port: JSON lines, one reply for each request, one thread for each connection."""

import socketserver
import threading

import msgspec

from chaos.ports import LOOPBACK
from scenarios.experiment.outside import Outside, Request

POLL_S = 0.05


class OutsideServer:
    """Answers processes under test for the `Outside` of a run."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._server = _Server((LOOPBACK, 0), outside)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL_S,), name="outside", daemon=True)

    @property
    def address(self) -> str:
        """host:port, for TASKLAB_OUTSIDE."""
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def start(self) -> None:
        """Start answering."""
        self._thread.start()

    def stop(self) -> None:
        """Release every held process, and close the server."""
        self._outside.release_all()
        if self._thread.ident is not None:
            self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False  # connections of killed or paused processes must not block the end of the lab
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], outside: Outside) -> None:
        self.outside = outside
        super().__init__(address, _Connection)


class _Connection(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: _Server

    def handle(self) -> None:
        outside, dying, asked_ns = self.server.outside, None, 0
        decoder = msgspec.json.Decoder(Request)
        try:
            for line in self.rfile:
                try:
                    request = decoder.decode(line)
                    reply = outside.answer(request)
                    dying, asked_ns = (request, outside.now_ns()) if request.point == "death" else (None, 0)
                except msgspec.DecodeError as error:
                    reply = {"error": str(error)}
                self.wfile.write(msgspec.json.encode(reply) + b"\n")
        except (TimeoutError, ConnectionError):
            pass  # the process under test died or lost its connection: no failure of the lab
        if dying is not None and dying.subject is not None:
            outside.note_death(dying.actor, dying.subject, asked_ns)
