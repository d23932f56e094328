"""The lab's side of a client process: starts it under a warden, sends requests, and kills it when an answer is overdue."""

import os
import socket
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

import msgspec

from chaos.errors import ChaosError
from chaos.hosting.passwords import without_passwords
from chaos.hosting.warden_client import ChildProcess, WardenClient
from scenarios.errors import PluginLost
from scenarios.plugin import launch
from scenarios.plugin.log import ProcessLog
from scenarios.plugin.protocol import ANSWER_BYTES_MAX, DEADLINES_S, PluginAnswer, PluginRequest

START_TIMEOUT_S = 10.0
KILL_TIMEOUT_S = 5.0
END_TIMEOUT_S = 2.0
"""Timeout for the log and the exit code of a process that closed its connection."""
LOOK_S = 60.0
RECEIVE_BYTES = 1 << 18
SOCKET_NAME = "client.socket"
LOG_NAME = "client-process.log"

_encode = msgspec.json.Encoder(enc_hook=str).encode
_decode = msgspec.json.Decoder(PluginAnswer).decode


class ClientProcess:
    """A running client process. Thread-safe: requests of several threads are pipelined.

    `deadlines_s`: by request, the maximum time for an answer. A process that hangs, ends or violates the protocol is *lost*: it is
    killed with all its descendants, and every open and later request ends with PluginLost. `problems`: errors of its plug-in
    that did not end the process; callers of `ask` add them.
    """

    def __init__(self, argv: Sequence[str], *, directory: Path, deadlines_s: Mapping[str, float] = DEADLINES_S) -> None:
        self.problems: list[str] = []
        self._deadlines_s = deadlines_s
        self._lock = threading.Lock()
        self._last_id = 0
        self._open: dict[int, tuple[PluginRequest, Future[PluginAnswer]]] = {}
        self._lost: str | None = None
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._warden = WardenClient(Path(tempfile.mkdtemp(prefix="tasklab-")).resolve())
        try:
            self._child, self._connection, errors = _start(self._warden, argv, directory)
        except BaseException:  # also Ctrl-C: no process is left behind
            self._warden.close()
            raise
        self.log = ProcessLog(errors, self._warden.directory / LOG_NAME)
        for work in (self._send, self._receive, self._await_end):
            threading.Thread(target=work, name="client process", daemon=True).start()

    def ask(self, request: PluginRequest) -> msgspec.Raw:
        """The content of the answer, as JSON.

        Raises:
            ErrorAnswer: the process answered with an error.
            PluginLost: the process is gone; `definite` where the request was not sent.
        """
        name = name_of(request)
        answer: Future[PluginAnswer] = Future()
        with self._lock:
            if self._lost is not None:
                raise PluginLost(self._lost, definite=True)
            self._last_id += 1
            request = msgspec.structs.replace(request, id=self._last_id)
            self._open[request.id] = request, answer
            self._requests.put(_encode(request) + b"\n")
        deadline_s = self._deadlines_s[name]
        try:
            answered = answer.result(deadline_s)
        except TimeoutError:
            overdue = f"the plug-in has not answered {name} for {deadline_s:g} s; its process was killed"
            self._lose(overdue + self._last_line())
            answered = answer.result()  # unless the answer came meanwhile, this raises PluginLost
        if answered.error is not None:
            raise ErrorAnswer(answered.error.kind, answered.error.message)
        return answered.ok

    def check(self) -> None:
        """Raise PluginLost if the plug-in has failed before, or the process is gone; it gets no further requests."""
        if (why := self.problems[0] if self.problems else self._lost) is not None:
            raise PluginLost(why, definite=True)

    @property
    def lost(self) -> str | None:
        """Why the process is gone, or None."""
        return self._lost

    def ends_with_its_input(self, within_s: float) -> bool:
        """End its standard input; whether it then ends by itself. No request may be open or follow."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
        return self._child.wait(within_s) is not None

    def close(self) -> None:
        """Kill it and all its descendants. Idempotent; never raises, and does not wait for answers."""
        self._lose("the lab has ended the client process")
        self._warden.close()
        self.log.close()

    def _lose(self, why: str) -> None:
        """Kill the process, and fail every open request."""
        with self._lock:
            if self._lost is not None:
                return
            self._lost = why
            opened, self._open = self._open, {}
        self._requests.put(None)
        for _, answer in opened.values():
            answer.set_exception(PluginLost(why, definite=False))
        with suppress(ChaosError):  # the warden and the process are gone, or the kernel still holds a descendant
            self._child.kill_tree(KILL_TIMEOUT_S)

    def _send(self) -> None:
        """Send requests in a separate thread, so that a process that does not read blocks no client."""
        while (line := self._requests.get()) is not None:
            try:
                self._connection.sendall(line)
            except OSError:  # it has ended; the receiving thread reports why
                return

    def _receive(self) -> None:
        with self._connection:
            self._lose(self._receive_answers() or self._how_it_ended())

    def _receive_answers(self) -> str:
        """Receive answers until the connection ends; how the process violated the protocol, or empty."""
        unread = bytearray()
        while received := _received(self._connection):
            unread += received
            lines: list[bytearray] = []
            if b"\n" in received:
                *lines, unread = unread.split(b"\n")
            if why := self._taken(lines) or _too_long(unread):
                return f"the plug-in violated the protocol: {why}"
        return ""

    def _taken(self, lines: Sequence[bytearray]) -> str:
        """Pass each answer to its waiting thread; why the first invalid line is invalid, or empty."""
        for line in lines:
            if why := _too_long(line):
                return why
            try:
                answer = _decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                return f"its output holds {bytes(line[:80])!r}, which is not an answer: {error}"
            with self._lock:
                _, waiting = self._open.pop(answer.id, (None, None))
            if waiting is None:
                return f"it answered request {answer.id}, which is not open" if self._lost is None else ""
            waiting.set_result(answer)
        return ""

    def _how_it_ended(self) -> str:
        code = self._child.wait(END_TIMEOUT_S)
        self.log.wait(END_TIMEOUT_S)
        return f"the plug-in's process {_ending(code)}{self._last_line()}"

    def _last_line(self) -> str:
        tail = self.log.tail()
        return f"; its last line: {tail}" if tail else ""

    def _await_end(self) -> None:
        """Close the connection when the process has ended: a descendant may hold it open."""
        while self._child.wait(LOOK_S) is None:
            pass
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


class ErrorAnswer(Exception):
    """A client process answered with an error; `kind` as scenarios.plugin.protocol.ErrorKind."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = without_passwords(message)


def name_of(request: PluginRequest) -> str:
    """The name of a request in the protocol."""
    return str(type(request).__struct_config__.tag)


def _start(
    warden: WardenClient, argv: Sequence[str], directory: Path
) -> tuple[ChildProcess, socket.socket, socket.socket]:
    """The process, its connection, and the connection of its standard error."""
    home = os.open(warden.directory, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(
                f"/proc/self/fd/{home}/{SOCKET_NAME}"
            )  # a short path, although that of the directory may be long
            listener.listen(2)
            listener.settimeout(START_TIMEOUT_S)
            command = [sys.executable, "-I", "-S", launch.__file__, SOCKET_NAME, str(directory), *argv]
            child = warden.spawn("client process", command, log=warden.directory / "launch.log")
            connection, errors = listener.accept()[0], listener.accept()[0]
    except TimeoutError as error:
        raise PluginLost(f"the client process did not start within {START_TIMEOUT_S:g} s", definite=True) from error
    finally:
        os.close(home)
    connection.settimeout(None)
    errors.settimeout(None)
    return child, connection, errors


def _ending(code: int | None) -> str:
    if code is None:
        return "closed its standard output"
    return f"ended by itself, with exit code {code}" if code >= 0 else f"was killed, by signal {-code}"


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(RECEIVE_BYTES)
    except OSError:
        return b""


def _too_long(line: bytearray) -> str:
    return f"an answer has more than {ANSWER_BYTES_MAX:,} bytes" if len(line) > ANSWER_BYTES_MAX else ""
