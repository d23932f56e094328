"""Writes the output of a client process to a file: at first in the lab's temporary directory, later in the logs of a run."""

import shutil
import socket
import threading
from contextlib import suppress
from pathlib import Path

from chaos.hosting.passwords import without_passwords

LOG_BYTES_MAX = 64 << 20
RECEIVE_BYTES = 1 << 16
CUT = b"\n(log truncated by the lab)\n"


class ProcessLog:
    """Copies a stream to a file, in a thread of its own. Thread-safe."""

    def __init__(self, stream: socket.socket, file: Path) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._file = file
        self._bytes = 0
        self._output = file.open("ab", buffering=0)
        self._thread = threading.Thread(target=self._copy, name="log", daemon=True)
        self._thread.start()

    def move_to(self, file: Path) -> None:
        """Continue in another file, which begins with the content of the present one."""
        with self._lock:
            if file == self._file or self._output.closed:
                return
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self._file, file)
            self._output.close()
            self._file, self._output = file, file.open("ab", buffering=0)

    def tail(self) -> str:
        """The last line that is not empty; empty if there is none."""
        with self._lock:
            try:
                content = self._file.read_bytes()[-RECEIVE_BYTES:]
            except OSError:
                return ""
        lines = [line for line in content.decode(errors="replace").splitlines() if line.strip()]
        return without_passwords(lines[-1].strip()) if lines else ""

    def wait(self, timeout_s: float) -> None:
        """Wait until the stream has ended, at most `timeout_s`."""
        self._thread.join(timeout_s)

    def close(self) -> None:
        """Stop copying, after the process has ended."""
        self._thread.join(1.0)
        with self._lock:
            self._output.close()

    def _copy(self) -> None:
        with self._stream:
            while received := self._receive():
                with (
                    self._lock,
                    suppress(OSError, ValueError),
                ):  # the disk is full, or the log is closed: still read, so that the process can write
                    self._write(received)

    def _write(self, received: bytes) -> None:
        if self._bytes < LOG_BYTES_MAX:
            self._output.write(received)
            self._bytes += len(received)
            if self._bytes >= LOG_BYTES_MAX:
                self._output.write(CUT)

    def _receive(self) -> bytes:
        try:
            return self._stream.recv(RECEIVE_BYTES)
        except OSError:
            return b""
