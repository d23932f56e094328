#!/usr/bin/env python3
"""A client process that speaks the protocol directly, without tasklab: the example of docs/protocol.md; it is as short in other languages.

Its system is a directory: a task is a file NAME.todo, which its worker (worker.py) renames when the task has ended. With tasklab.toml
beside it, `describe` and `processes` are never asked: the file states the same.
"""

import json
import sys
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")
PROMISES = ["no_lost_task", "no_stuck_task", "exactly_one_effect", "duplicates_explained"]
clients = {}


def answer(request):
    """The content of the answer to one request."""
    do = request["do"]
    if do == "describe":
        powers = ["embedded_processes", "account"]
        return {
            "protocol": 1,
            "name": "plain",
            "claims": PROMISES,
            "needs": [],
            "pace": {"quiet_s": 2},
            "powers": powers,
        }
    if do in ("processes", "embedded_processes"):
        argv = [sys.executable, str(WORKER), request["services"]["directory"]]
        env = {**request["environment"], "TASKLAB_ACTOR": "worker-1"}
        return {"processes": [{"name": "worker-1", "role": "worker", "argv": argv, "env": env}]}
    if do == "client.open":
        clients[request["client"]] = Path(request["services"]["directory"])
        return {}
    if do == "invoke":
        return invoke(clients[request["client"]], request["operation"])
    if do == "account":
        directory = Path(request["services"]["directory"])
        done, dead, pending = (names(directory, state) for state in ("done", "dead", "todo"))
        return {"done": done, "dead": dead, "cancelled": [], "expired": [], "pending": pending}
    return {} if do == "client.close" else None


def invoke(directory, operation):
    """One operation of a client."""
    if operation["type"] != "submit":
        return {"kind": "fail", "detail": "this system supports only submissions"}
    file = directory / f"{operation['task']}.new"
    file.write_text(json.dumps(operation["payload"]))
    file.rename(file.with_suffix(".todo"))
    return {"kind": "ok", "id": operation["task"]}


def names(directory, state):
    """The tasks in this state, by the names of their files."""
    return [file.stem for file in directory.glob(f"*.{state}")]


for line in sys.stdin:
    request = json.loads(line)
    content = answer(request)
    unknown = {"error": {"kind": "unsupported", "message": request["do"]}}
    print(json.dumps({"id": request["id"], **(unknown if content is None else {"ok": content})}), flush=True)
