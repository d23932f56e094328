"""The worker, started as `worker.py HOST PORT`: takes a task, runs it, ends it, and connects again where its broker is away."""

import json
import socket
import sys
import time

import tasklab_probe

BROKER = (sys.argv[1], int(sys.argv[2]))


def run(payload):
    """How the task ended, or None: it has to be tried again."""
    try:
        tasklab_probe.run_task(payload, key=payload["task"])
    except tasklab_probe.TaskError as error:
        return "dead" if error.kind == "permanent" else None
    return "done"


def work(broker):
    """Until the connection ends."""

    def ask(**request):
        broker.write(json.dumps(request).encode() + b"\n")
        broker.flush()
        line = broker.readline()
        if not line:
            raise ConnectionError("the broker is away")
        return json.loads(line)

    while True:
        taken = ask(do="take")
        if taken["task"] is None:
            time.sleep(0.02)  # the broker of this example answers at once, also that it has no task
            continue
        state = run(taken["payload"])
        ask(do="back" if state is None else "end", task=taken["task"], state=state)


while True:
    try:
        with socket.create_connection(BROKER, timeout=2) as connection, connection.makefile("rwb") as broker:
            work(broker)
    except OSError:
        time.sleep(0.1)  # the broker is away: try to connect again a little later
