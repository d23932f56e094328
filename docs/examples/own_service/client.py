#!/usr/bin/env python3
"""The client process: puts tasks, and lists them. It finds the broker at `services.own.queue` of each request (docs/protocol.md)."""

import json
import socket
import sys

TIMEOUT_S = 5
addresses = {}


def ask(address, **request):
    """The broker's answer, on a connection of its own; ConnectionRefusedError: the request was surely not sent."""
    with socket.create_connection((address["host"], address["port"]), TIMEOUT_S) as connection:
        connection.sendall(json.dumps(request).encode() + b"\n")
        line = connection.makefile().readline()
    if not line:
        raise ConnectionResetError("no answer")
    return json.loads(line)


def submit(address, operation):
    """One submission, tried once."""
    try:
        answer = ask(address, do="put", task=operation["task"], payload=operation["payload"])
    except ConnectionRefusedError as error:
        return {"kind": "fail", "detail": str(error)}
    except OSError as error:
        return {"kind": "info", "detail": str(error)}
    return {"kind": "ok", "id": answer["task"]}


def account(address):
    """Every task by its state."""
    states = ask(address, do="list")["states"]
    names = {state: [task for task, one in states.items() if one == state] for state in ("done", "dead")}
    pending = [task for task, one in states.items() if one in ("waiting", "taken")]
    return {**names, "cancelled": [], "expired": [], "pending": pending}


def answer(request):
    """The content of the answer to one request; None: it is unknown."""
    do = request["do"]
    if do == "client.open":
        addresses[request["client"]] = request["services"]["own"]["queue"]
    elif do == "invoke":
        operation = request["operation"]
        if operation["type"] != "submit":
            return {"kind": "fail", "detail": "this system supports only submissions"}
        return submit(addresses[request["client"]], operation)
    elif do == "account":
        return account(request["services"]["own"]["queue"])
    return {} if do in ("client.open", "client.close") else None


for line in sys.stdin:
    request = json.loads(line)
    try:
        answered = answer(request)
        unknown = {"error": {"kind": "unsupported", "message": request["do"]}}
        content = unknown if answered is None else {"ok": answered}
    except OSError as error:  # the broker is away while the tasks are listed
        content = {"error": {"kind": "raised", "message": str(error)}}
    print(json.dumps({"id": request["id"], **content}), flush=True)
