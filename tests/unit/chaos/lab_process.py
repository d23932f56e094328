"""A small lab in a process of its own, so that tests can end it in every way there is. Prints what it started, then waits."""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from chaos.hosting.warden_client import WardenClient

SLEEP = "exec sleep 1000"
DAEMON = f"(env -i setsid sh -c '{SLEEP}' &) ; {SLEEP}"
"""Forks twice, in a session of its own and with an empty environment; its parent goes on."""
ORPHAN = f"(setsid sh -c '{SLEEP}' &) ; exit 0"
GROUP = f"set -m; sh -c '{SLEEP}' & {SLEEP}"
"""A child in a process group of its own."""
STARTED = 7


def main(last_words: str) -> None:
    directory = Path(tempfile.mkdtemp(prefix="tasklab-"))
    warden = WardenClient(directory)
    for name, script in {"plain": SLEEP, "daemon": DAEMON, "orphan": ORPHAN, "group": GROUP}.items():
        warden.spawn(name, ["sh", "-c", script], log=directory / f"{name}.log")
    stopped = warden.spawn("stopped", ["sleep", "1000"], log=directory / "stopped.log")
    stopped.signal(signal.SIGSTOP)
    print(json.dumps({"directory": str(directory), "started": STARTED}), flush=True)
    if last_words == "fork":
        if os.fork() == 0:  # a child of the lab that holds all its descriptors and outlives it
            time.sleep(1000)
        print("forked", flush=True)
    sys.stdin.readline()
    if last_words == "raise":
        raise RuntimeError("as planned")
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1])
