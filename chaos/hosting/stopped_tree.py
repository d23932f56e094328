"""A process and all its descendants, stopped by SIGSTOP: every thread, including those of processes forked meanwhile."""

import signal
from collections.abc import Iterator
from pathlib import Path

from chaos.hosting.warden_client import ChildProcess

STOPPED = frozenset("Tt")
ENDED = frozenset("ZX")


class StoppedTree:
    """`stop` is called until it returns ""; `resume` sends SIGCONT to all."""

    def __init__(self, child: ChildProcess) -> None:
        self.child = child
        self.pids: frozenset[int] = frozenset()

    @property
    def threads(self) -> int:
        """The number of their threads."""
        return sum(len(list(_thread_states(pid))) for pid in self.pids)

    def stop(self) -> str:
        """Stop every process that exists now; "" if this pass found no new process and every thread is stopped, else what is missing."""
        if ended := self.ended():
            return ended
        found = frozenset(self.child.signal_tree(signal.SIGSTOP))
        new = found - self.pids
        self.pids = found
        return f"processes {sorted(new)} are just being stopped" if new else self.running()

    def resume(self) -> None:
        """Let all of them continue."""
        self.child.signal_tree(signal.SIGCONT)

    def ended(self) -> str:
        """That the process has ended, with its exit code; "" if it has not."""
        code = self.child.exit_code
        return "" if code is None else f"it has ended, with exit code {code}"

    def running(self) -> str:
        """Which processes have a thread that runs; "" if all are stopped."""
        running = [pid for pid in sorted(self.pids) if not set(_thread_states(pid)) <= STOPPED | ENDED]
        return f"threads of {running} still run" if running else ""

    def running_again(self) -> str:
        """Why they did not stay stopped until now; "" if they did."""
        if ended := self.ended():
            return ended.replace("has ended", "ended during the pause")
        running = self.running()
        return f"{running}: another program has resumed it" if running and self.pids else ""

    def still_stopped(self) -> str:
        """Which processes have a thread that is stopped; "" if all run."""
        stopped = [pid for pid in sorted(self.pids) if set(_thread_states(pid)) & STOPPED]
        return f"threads of {stopped} are still stopped" if stopped else ""


def _thread_states(pid: int) -> Iterator[str]:
    """The state letter of each thread, from /proc; empty if the process is gone."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            yield (thread / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
