"""The lab's client of the warden: requests starts and signals of processes, and is notified when they end.

One JSON object a line. Requests: `{"id", "do": "spawn", "argv", "env", "cwd", "log", "user"}` (its id becomes the child's number) and
`{"id", "do": "signal", "child", "signal", "tree"}`. Answers: `{"id", "pid"}`, `{"id", "pids"}` or `{"id", "error"}`. At any time:
`{"ended": child, "code", "at_ns"}`, with the instant on the monotonic clock, which all processes of a machine share.
"""

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from chaos.deadline import Deadline, wait
from chaos.errors import ChaosError, ProcessFailed, WardenLost
from chaos.hosting.passwords import without_passwords

ANSWER_TIMEOUT_S = 30.0
END_TIMEOUT_S = 60.0
RECEIVE_BYTES = 1 << 16
_SCRIPT = Path(__file__).with_name("warden.py")


class ChildProcess:
    """Handle to one child of the warden. Not a pid, so it stays valid and unambiguous after the pid is reused."""

    def __init__(self, warden: "WardenClient", number: int, name: str, log: Path) -> None:
        self.name = name
        self.log = log
        self.pid = 0
        self._warden = warden
        self._number = number
        self._code: int | None = None
        self._ended_ns: int | None = None
        self._ended = threading.Event()

    @property
    def exit_code(self) -> int | None:
        """How it ended (negative: the signal), or None while it runs."""
        return self._code

    @property
    def ended_ns(self) -> int | None:
        """When the warden reaped it, on the monotonic clock; None while it runs, or if the warden itself was lost."""
        return self._ended_ns

    def wait(self, timeout_s: float) -> int | None:
        """Block until it has ended; its exit code, or None if it still runs after `timeout_s`."""
        self._ended.wait(timeout_s)
        return self._code

    def signal(self, number: int) -> bool:
        """Signal this process alone; whether it was still there."""
        return bool(self._warden.request_signal(self._number, number, tree=False))

    def signal_tree(self, number: int) -> list[int]:
        """Signal it and all its descendants, parents first, daemonised ones too; the pids that got the signal."""
        return self._warden.request_signal(self._number, number, tree=True)

    def kill_tree(self, timeout_s: float) -> list[int]:
        """SIGKILL to it and all its descendants until none is left; the pids that were killed.

        Raises:
            ProcessFailed: some are still there after `timeout_s`.
        """
        killed: dict[int, None] = {}

        def left() -> str:
            pids = self.signal_tree(signal.SIGKILL)
            killed.update(dict.fromkeys(pids))
            return f"pids {pids} outlive SIGKILL" if pids or self._code is None else ""

        if problem := wait(left, Deadline.after(timeout_s), every_s=0.002):
            raise ProcessFailed(self.name, problem, self.log)
        return list(killed)

    def log_tail(self, lines_max: int = 15) -> str:
        """The last lines of its output."""
        return read_tail(self.log, lines_max)

    def mark_ended(self, code: int, ended_ns: int | None) -> None:
        """Record its end; called by the warden's listener."""
        self._ended_ns = ended_ns
        self._code = code
        self._ended.set()


class WardenClient:
    """A running warden and its children. Thread-safe.

    `directory` is the lab's own directory: it is removed with the warden.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._numbers = itertools.count(1)
        self._answers: dict[int, Future[dict[str, Any]]] = {}
        self._children: dict[int, ChildProcess] = {}
        self._lock = threading.Lock()
        self._closing = False
        self._lost = threading.Event()
        self._control, theirs = socket.socketpair()
        try:
            self._guard = _start_guard(theirs, directory)
        finally:
            theirs.close()
        self._listener = threading.Thread(target=self._listen, name="warden", daemon=True)
        self._listener.start()

    @property
    def is_lost(self) -> bool:
        """Whether the warden is gone, and all its children with it."""
        return self._lost.is_set()

    def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        user: tuple[int, int] | None = None,
    ) -> ChildProcess:
        """Start a process that cannot outlive the lab. `env` is all of its environment (default: the lab's); output is appended to `log`.
        `user`: the ids of the user and group that it runs as (default: the lab's own); only root can change them.

        Raises:
            ProcessFailed: there is no such program, directory or log.
            WardenLost: the warden is gone.
        """
        number = next(self._numbers)
        child = ChildProcess(self, number, name, log)
        self._children[number] = child  # before the request: the message of its end may come before the answer
        environment = dict(os.environ if env is None else env)
        request = {
            "do": "spawn",
            "argv": list(argv),
            "env": environment,
            "cwd": str(cwd or self.directory),
            "log": str(log),
            "user": user,
        }
        answer = self._ask(number, request)
        if "error" in answer:
            del self._children[number]
            raise ProcessFailed(name, f"could not be started: {answer['error']}")
        child.pid = answer["pid"]
        return child

    def request_signal(self, child: int, number: int, *, tree: bool) -> list[int]:
        """Signal one child, or with `tree` also its descendants; the pids that got the signal."""
        answer = self._ask(next(self._numbers), {"do": "signal", "child": child, "signal": int(number), "tree": tree})
        return list(answer["pids"])

    def close(self) -> None:
        """End all children, remove the directory, and wait until the warden has ended. Idempotent."""
        self._closing = True
        # close() alone is not enough: the listener still reads from the socket, so only a shutdown reaches the warden.
        with suppress(OSError):  # the warden was gone already
            self._control.shutdown(socket.SHUT_RDWR)
        self._guard.wait(END_TIMEOUT_S)
        self._listener.join(END_TIMEOUT_S)
        self._control.close()
        shutil.rmtree(self.directory, ignore_errors=True)  # in case warden and guard were both killed

    def _ask(self, number: int, request: dict[str, Any]) -> dict[str, Any]:
        answer: Future[dict[str, Any]] = Future()
        message = json.dumps({"id": number, **request}).encode() + b"\n"
        with self._lock:
            if self.is_lost or self._closing:
                raise WardenLost
            self._answers[number] = answer
            try:
                self._control.sendall(message)
            except OSError as error:
                raise WardenLost from error
        try:
            return answer.result(ANSWER_TIMEOUT_S)
        except TimeoutError as error:
            raise ChaosError(
                f"the lab's warden has not answered for {ANSWER_TIMEOUT_S:g} s: was it stopped?"
            ) from error

    def _listen(self) -> None:
        unread = b""
        while True:
            try:
                received = self._control.recv(RECEIVE_BYTES)
            except OSError:
                received = b""
            if not received:
                break
            *lines, unread = (unread + received).split(b"\n")
            for line in lines:
                self._handle_message(json.loads(line))
        self._mark_lost()

    def _handle_message(self, message: dict[str, Any]) -> None:
        if "ended" in message:
            self._children.pop(message["ended"]).mark_ended(message["code"], message["at_ns"])
        else:
            self._answers.pop(message["id"]).set_result(message)

    def _mark_lost(self) -> None:
        with self._lock:
            self._lost.set()
        for answer in list(self._answers.values()):
            answer.set_exception(WardenLost())
        for child in list(self._children.values()):
            child.mark_ended(-signal.SIGKILL, None)
        if not self._closing:
            shutil.rmtree(self.directory, ignore_errors=True)


def read_tail(file: Path, lines_max: int = 15) -> str:
    """The last lines of a text file, without passwords, or "" if there is none."""
    try:
        return without_passwords("\n".join(file.read_text(errors="replace").splitlines()[-lines_max:]))
    except OSError:
        return ""


def _start_guard(theirs: socket.socket, directory: Path) -> subprocess.Popen[bytes]:
    try:
        lab = os.pidfd_open(os.getpid())  # shows the lab's end even if a forked child keeps the socket open
    except OSError:
        lab = -1  # a kernel before 5.3: only the end of the connection shows it
    descriptors = [theirs.fileno()] + ([lab] if lab >= 0 else [])
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SCRIPT), str(theirs.fileno()), str(lab), str(directory)],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    finally:
        if lab >= 0:
            os.close(lab)
