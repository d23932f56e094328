"""A broker of one's own: a queue at a TCP port, kept in a journal. Started as `broker.py PORT DIRECTORY`.

A line is a JSON object with the request in "do": put, take, back, end, list, ping; its answer is a line. What a connection has taken
and not ended is waiting again when the connection ends.
"""

import json
import socketserver
import sys
import threading
from pathlib import Path

ENDS = ("done", "dead")


class Queue:
    """Tasks by name, each in one of the states waiting, taken, done, dead."""

    def __init__(self, journal):
        self.lock = threading.Lock()
        self.payloads, self.states = {}, {}
        for line in journal.read_text().splitlines() if journal.exists() else ():
            self.apply(json.loads(line))
        self.journal = journal.open("a")

    def apply(self, entry):
        """The change that an entry of the journal states."""
        if entry["do"] == "put":
            self.payloads.setdefault(entry["task"], entry["payload"])
            self.states.setdefault(entry["task"], "waiting")
        else:
            self.states[entry["task"]] = entry["state"]

    def write(self, entry):
        """Into the journal first: an answer is a promise."""
        self.journal.write(json.dumps(entry) + "\n")
        self.journal.flush()
        self.apply(entry)

    def take(self):
        """A task that waits, or None."""
        task = next((task for task, state in self.states.items() if state == "waiting"), None)
        if task is not None:
            self.states[task] = "taken"
        return task

    def back(self, task):
        """A task that was taken and has not ended waits again."""
        if self.states[task] == "taken":
            self.states[task] = "waiting"

    def answer(self, request, taken):
        """The answer to a request; `taken`: what its connection has in hand."""
        do, task = request["do"], request.get("task")
        if do == "put" or (do == "end" and self.states[task] not in ENDS):
            self.write(request)
        elif do == "take" and (task := self.take()) is not None:
            taken.add(task)
        elif do == "back":
            self.back(task)
        if do in ("back", "end"):
            taken.discard(task)
        if do == "list":
            return {"states": self.states}
        return {"task": task, "payload": self.payloads.get(task)}


class Connection(socketserver.StreamRequestHandler):
    """One connection; `taken`: what it has in hand."""

    def handle(self):
        """Answer requests until the connection ends."""
        queue, taken = self.server.queue, set()
        try:
            for line in self.rfile:
                with queue.lock:
                    answer = queue.answer(json.loads(line), taken)
                self.wfile.write(json.dumps(answer).encode() + b"\n")
        except ConnectionError:
            pass  # its peer is gone
        finally:
            with queue.lock:
                for task in taken:
                    queue.back(task)


class Broker(socketserver.ThreadingTCPServer):
    """The server; a new one may listen at the port of one that was killed."""

    allow_reuse_address = True
    daemon_threads = True


with Broker(("127.0.0.1", int(sys.argv[1])), Connection) as broker:
    broker.queue = Queue(Path(sys.argv[2]) / "journal")
    print("listens", flush=True)
    broker.serve_forever()
