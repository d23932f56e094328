"""A client process without tasklab: the protocol, spoken directly. The example of docs/protocol.md."""

import json
import sys

tasks = {}


def answer(request):
    do = request["do"]
    if do == "describe":
        return {"protocol": 1, "name": "plain", "claims": ["no_lost_task"], "needs": [], "powers": ["account"]}
    if do == "processes":
        return {"processes": [{"name": "worker-1", "role": "worker", "argv": ["sleep", "1000"]}]}
    if do == "invoke":
        operation = request["operation"]
        if operation["type"] != "submit":
            return {"kind": "fail", "detail": "this system can only be submitted to"}
        tasks[operation["task"]] = operation["payload"]
        return {"kind": "ok", "id": operation["task"]}
    if do == "account":
        return {"done": [], "dead": [], "cancelled": [], "expired": [], "pending": list(tasks)}
    return {}  # client.open and client.close: nothing to do


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], "ok": answer(request)}), flush=True)
