"""The office's worker: `python -m office.worker FILE NAME DEFECT`. Its handler is the lab's."""

import random
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# The lab puts it on this process's path, and on no other's: a type checker does not find it.
import tasklab_probe  # type: ignore[import-not-found]

from office.defects import WORKERS, mixed, store_class
from office.store import LEASE_S, Claim, Store

LOOK_S = 0.02
RENEW_S = LEASE_S / 4


class Worker:
    """One slot: claims a task, runs it, settles it. `store` is the main thread's, `make_store` makes one for another thread."""

    has_key = True
    renew_s = RENEW_S

    def __init__(self, name: str, make_store: Callable[[], Store]) -> None:
        self.name = name
        self.store = make_store()
        self._make_store = make_store

    def work(self) -> None:
        """Until the process is stopped."""
        while True:
            asked_ns = tasklab_probe.now_ns()
            claim = self.store.claim(self.name)
            if claim is None:
                time.sleep(LOOK_S)  # SQLite cannot notify
            else:
                self.attempt(claim, asked_ns)

    def attempt(self, claim: Claim, asked_ns: int) -> None:
        """One attempt under a lease that is renewed for as long as it lasts."""
        over = threading.Event()
        lease = tasklab_probe.lease(claim.name, fence=claim.fence, ttl_s=LEASE_S, asked_ns=asked_ns)
        with lease:
            heartbeat = threading.Thread(target=self._renew, args=(claim, lease, over), daemon=True)
            heartbeat.start()
            try:
                ended = self.run(claim)
            except tasklab_probe.TaskError as error:  # planned: scenarios contain tasks that fail on purpose
                ended = error
            over.set()
            heartbeat.join()
        if isinstance(ended, Exception):
            self.store.fail(claim, ended.kind, random.random())
        else:
            self.store.succeed(claim, ended)

    def run(self, claim: Claim) -> Mapping[str, Any]:
        """The handler; what it hands back."""
        handed_back: Mapping[str, Any] = tasklab_probe.run_task(
            claim.payload,
            attempt=claim.attempt,
            key=str(claim.id) if self.has_key else None,
            fence=claim.fence if self.has_key else None,
            report=lambda step, percent: self.report(claim, percent),
        )
        return handed_back

    def report(self, claim: Claim, percent: int) -> None:
        """Progress, for clients to read."""
        self.tell(claim, percent)

    def tell(self, claim: Claim, percent: int) -> None:
        """To the history, and to the office."""
        tasklab_probe.probe().record("progress", task=claim.name, attempt=claim.attempt, percent=percent)
        self.store.note_progress(claim, percent)

    def _renew(self, claim: Claim, lease: Any, over: threading.Event) -> None:
        store = self._make_store()
        while not over.wait(self.renew_s):
            asked_ns = tasklab_probe.now_ns()
            if not store.renew(claim):
                break
            lease.renewed(asked_ns=asked_ns)
        store.file.close()


def main(path: Path, name: str, defect: str) -> None:
    """Work with the defect of this name, or with none."""
    mixed(defect, Worker, WORKERS)(name, lambda: store_class(defect)(path)).work()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
