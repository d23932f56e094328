"""The outside resource and the remote probe on a loopback port: JSON lines, one reply for each request, one thread for each connection."""

import socketserver
import threading

import msgspec

from chaos.ports import LOOPBACK
from scenarios.real.remote_probe import RemoteProbe, RequestRefused

POLL_S = 0.05
LINE_BYTES_MAX = 1 << 20


class OutsideServer:
    """Answers processes under test for the remote probe of a run, and its outside resource."""

    def __init__(self, probe: RemoteProbe) -> None:
        self._outside = probe.outside
        self._server = _Server((LOOPBACK, 0), probe)
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

    def __init__(self, address: tuple[str, int], probe: RemoteProbe) -> None:
        self.probe = probe
        super().__init__(address, _Connection)


class _Connection(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: _Server

    def handle(self) -> None:
        probe, outside, dying, asked_ns = self.server.probe, self.server.probe.outside, None, 0
        try:
            # A last line without its end was being written when its process was killed: it is no request.
            while (line := self.rfile.readline(LINE_BYTES_MAX)).endswith(b"\n"):
                try:
                    request, reply = probe.answer(line)
                    is_death = request is not None and request.point == "death"
                    dying, asked_ns = (request, outside.now_ns()) if is_death else (None, 0)
                except Exception as error:  # noqa: BLE001 — whatever it was, the record now lacks this request: the run has to know
                    reply = probe.refused(line, error)
                self.wfile.write(msgspec.json.encode(reply) + b"\n")
            if len(line) >= LINE_BYTES_MAX:
                reply = probe.refused(line, RequestRefused(f"a line has at most {LINE_BYTES_MAX:,} bytes"))
                self.wfile.write(msgspec.json.encode(reply) + b"\n")
        except (TimeoutError, ConnectionError):
            pass  # the process under test died or lost its connection: no failure of the lab
        if dying is not None and dying.subject is not None:
            outside.note_death(dying.actor, dying.subject, asked_ns)
