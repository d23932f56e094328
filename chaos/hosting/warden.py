"""The warden: a small process that is the parent of everything a lab starts, and ends all of it after any end of the lab.

Run as a separate script (standard library only): `python -I -S warden.py CONTROL_FD LAB_PIDFD DIRECTORY`. Two processes watch
each other: the *warden* starts the lab's children and serves the lab's requests; the *guard*, its parent, only waits to outlive it.

- The lab ends (exit, exception, Ctrl-C, kill -9): the warden sees the end of its connection or of the lab's process.
- The warden ends (kill -9): its children get SIGKILL from the kernel (PR_SET_PDEATHSIG); the guard, a child subreaper as
  well, inherits the grandchildren.
- The guard ends: the warden sees the end of a pipe.

In each case the survivor kills descendants until none is left, and removes the lab's directory. Both are in a session of their
own, so Ctrl-C in a terminal reaches neither. As subreapers (PR_SET_CHILD_SUBREAPER) they inherit processes that daemonise
themselves. The lab's end of the connection and the meaning of the messages are in warden_client.py.
"""
# ruff: noqa: PTH123, PTH208
# pathlib would cost a third of the start of this process, and every start of a lab waits for it.

from __future__ import annotations

import ctypes
import errno
import json
import os
import select
import signal
import socket
import sys
import time
import warnings  # noqa: F401  os.execvpe imports it, and the other user of a child may not read the library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SWEEP_MAX_S = 60.0  # a process in an uninterruptible system call dies only when that returns
RECEIVE_BYTES = 1 << 16
CANNOT_START = 127

LAB_MARK = "TASKLAB_LAB"
"""Environment variable of everything a lab starts: the lab's directory."""
CHILD_MARK = "TASKLAB_CHILD"
"""Environment variable of everything a lab starts: the number of the warden's child that it descends from."""

_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Inherit every orphan among the descendants of this process."""
    if _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def read_processes() -> dict[int, tuple[int, int, str]]:
    """Every process of this machine: pid to (parent's pid, session, state letter)."""
    processes = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        processes[int(name)] = (int(fields[1]), int(fields[3]), fields[0].decode())
    return processes


def descendants(root: int, processes: dict[int, tuple[int, int, str]]) -> list[int]:
    """The processes below `root`, parents before their children, zombies left out."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    found = list(children.get(root, ()))
    for pid in found:  # grows while it is walked
        found.extend(children.get(pid, ()))
    return [pid for pid in found if processes[pid][2] not in "ZX"]


def carries_mark(pid: int, mark: bytes) -> bool:
    """Whether that process was started with `mark` in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:
        return False


def send_signal(pid: int, number: int) -> bool:
    """Whether the process existed and got the signal."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def reap() -> tuple[list[tuple[int, int]], bool]:
    """The children that ended, as (pid, exit code), and whether any child is left."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended.append((pid, os.waitstatus_to_exitcode(status)))


def sweep() -> None:
    """Kill every descendant of this process, stopped and daemonised ones too, until none is left."""
    until = time.monotonic() + SWEEP_MAX_S
    while time.monotonic() < until:
        for pid in descendants(os.getpid(), read_processes()):
            send_signal(pid, signal.SIGKILL)
        if not reap()[1]:
            return
        time.sleep(0.002)  # the kernel reports the death of own children only


def remove(directory: str) -> None:
    """Remove the lab's directory and all in it."""
    import shutil  # costs more to import than everything else; needed once, at the end

    shutil.rmtree(directory, ignore_errors=True)


class Warden:
    """Starts, signals and reaps the lab's children, one request after another, on one thread."""

    def __init__(self, control: socket.socket, lab_pidfd: int, guard_pipe: int, directory: str) -> None:
        self._control = control
        self._directory = directory
        self._wakeup, wakeup_in = socket.socketpair()
        self._wakeup.setblocking(False)
        wakeup_in.setblocking(False)
        self._wakeup_in = wakeup_in
        self._ends = [descriptor for descriptor in (lab_pidfd, guard_pipe) if descriptor >= 0]
        self._pid_of: dict[int, int] = {}
        self._child_of: dict[int, int] = {}

    def run(self) -> None:
        """Serve the lab until it, or the guard, is gone."""
        signal.signal(signal.SIGCHLD, lambda *_: None)  # a handler, else the wake-up below is not written
        signal.set_wakeup_fd(self._wakeup_in.fileno(), warn_on_full_buffer=False)
        try:
            self._serve()
        finally:
            signal.set_wakeup_fd(-1)

    def _serve(self) -> None:
        control, wakeup = self._control.fileno(), self._wakeup.fileno()
        unread = b""
        while True:
            ready = select.select([control, wakeup, *self._ends], [], [])[0]
            if wakeup in ready:
                self._wakeup.recv(RECEIVE_BYTES)
                self._report_ended()
            if any(descriptor in ready for descriptor in self._ends):
                return
            if control in ready:
                received = self._control.recv(RECEIVE_BYTES)
                if not received:
                    return
                *lines, unread = (unread + received).split(b"\n")
                for line in lines:
                    self._send(self._answer(json.loads(line)))

    def _send(self, message: dict[str, object]) -> None:
        self._control.sendall(json.dumps(message).encode() + b"\n")

    def _report_ended(self) -> None:
        # Taken here, not where the lab reads the report: a busy lab may read it late.
        ended_ns = time.monotonic_ns()
        for pid, code in reap()[0]:
            child = self._child_of.pop(pid, None)
            if child is not None:  # else it is an inherited orphan
                del self._pid_of[child]
                self._send({"ended": child, "code": code, "at_ns": ended_ns})

    def _answer(self, request: dict[str, Any]) -> dict[str, object]:
        number = request["id"]
        try:
            if request["do"] == "spawn":
                return {"id": number, "pid": self._spawn(number, request)}
            return {"id": number, "pids": self._signal(request["child"], request["signal"], request["tree"])}
        except OSError as error:
            return {"id": number, "error": f"{error.strerror}: {error.filename}" if error.filename else str(error)}

    def _spawn(self, child: int, request: dict[str, Any]) -> int:
        environment = {**request["env"], LAB_MARK: self._directory, CHILD_MARK: str(child)}
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        report, report_in = os.pipe()
        warden = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(request, environment, log, report_in, warden)
        os.close(log)
        os.close(report_in)
        with open(report, "rb") as file:
            failure = file.read()  # ends when exec closes the pipe
        if failure:
            os.waitpid(pid, 0)
            code, _, path = failure.decode(errors="surrogateescape").partition(" ")
            raise OSError(int(code), os.strerror(int(code)), path)
        self._pid_of[child] = pid
        self._child_of[pid] = child
        return pid

    def _signal(self, child: int, number: int, tree: bool) -> list[int]:
        """Signals a pid only until its process is reaped, so the pid cannot belong to another process."""
        pid = self._pid_of.get(child)
        targets = [pid] if pid is not None else []
        if tree:
            targets += self._below(child, pid)
        return [target for target in dict.fromkeys(targets) if send_signal(target, number)]

    def _below(self, child: int, pid: int | None) -> list[int]:
        """The live descendants of a child, found by parent process and, for daemonised ones, by the mark in their environment."""
        processes = read_processes()
        mark = f"{CHILD_MARK}={child}".encode()
        ours = descendants(os.getpid(), processes)
        by_parent = set(descendants(pid, processes)) if pid is not None else set()
        return [one for one in ours if one != pid and (one in by_parent or carries_mark(one, mark))]


def _become(request: dict[str, Any], environment: dict[str, str], log: int, report: int, warden: int) -> NoReturn:
    """In the forked child: execute the requested program."""
    argv, cwd = request["argv"], request["cwd"]
    path = argv[0]
    try:
        os.setsid()
        if request["user"] is not None:
            path = f"user {request['user']}"
            _change_user(*request["user"])
        # After the change of user, which would reset it.
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != warden:  # it died before prctl took effect
            os._exit(CANNOT_START)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # Python ignores some, `nohup` others, and exec keeps that
        null = os.open(os.devnull, os.O_RDONLY)
        for descriptor, standard in ((null, 0), (log, 1), (log, 2)):
            os.dup2(descriptor, standard)
        path = cwd
        os.chdir(cwd)
        path = argv[0]
        os.execvpe(argv[0], argv, environment)  # noqa: S606  starting programs is what a warden is for
    except (OSError, ValueError) as error:
        code = error.errno if isinstance(error, OSError) else errno.EINVAL
        os.write(report, f"{code} {path}".encode(errors="surrogateescape"))
    finally:
        os._exit(CANNOT_START)


def _change_user(user: int, group: int) -> None:
    """Give up the rights of root for those of one user with one group."""
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)


def guard(warden: int, directory: str) -> None:
    """Wait for the warden to end, then clean up what it has left."""
    while os.waitpid(-1, 0)[0] != warden:
        pass
    sweep()
    remove(directory)


def main(arguments: list[str]) -> None:
    """Split into guard and warden, and serve."""
    control_fd, lab_pidfd = int(arguments[0]), int(arguments[1])
    directory = arguments[2]
    become_subreaper()
    pipe_out, pipe_in = os.pipe()
    warden = os.fork()
    if warden:
        for descriptor in (control_fd, lab_pidfd, pipe_out):
            if descriptor >= 0:
                os.close(descriptor)
        guard(warden, directory)
        return
    os.close(pipe_in)
    become_subreaper()
    try:
        with socket.socket(fileno=control_fd) as control:
            control.set_inheritable(False)
            if lab_pidfd >= 0:
                os.set_inheritable(lab_pidfd, False)
            Warden(control, lab_pidfd, pipe_out, directory).run()
    except ConnectionError:
        pass  # the lab ended during an exchange with it
    finally:
        sweep()
        remove(directory)


if __name__ == "__main__":
    main(sys.argv[1:])
