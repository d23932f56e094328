"""Systems and scenarios that cheat: each does or says one thing that the lab must not pass."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chaos.environment import ProcessSpec, Services
from chaos.faults import KillProcess, PauseProcess
from scenarios.contract.system import Account, Client, Handlers, Operation, Outcome, Submit
from scenarios.experiment.scenario import AtStart, EffectAccepted, Effects, Scenario, Strike, Workload
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.http_client import HttpClient
from scenarios.systems.reference.access import token_of
from scenarios.systems.reference.plugin import Reference

WORKLOAD = Workload(tasks=12, rate_per_s=40)
SWALLOWED = frozenset(f"task-{number:04d}" for number in (3, 6, 9, 12))


def _scenario(name: str, workload: Workload, *strikes: Strike) -> Scenario:
    return Scenario(name, "A test of the lab itself.", workload, strikes, (Guarantee.NO_LOST_TASK,))


never_reached = _scenario("never_reached", WORKLOAD, Strike(KillProcess(), when=EffectAccepted(nth=10_000)))
killed_once = _scenario("killed_once", WORKLOAD, Strike(KillProcess(), when=EffectAccepted(nth=4), lasts_s=0.2))
worker_killed = _scenario("worker_killed", WORKLOAD, Strike(KillProcess("worker"), when=Effects(2), lasts_s=0.2))
worker_paused = _scenario("worker_paused", WORKLOAD, Strike(PauseProcess("worker"), when=Effects(2), lasts_s=0.2))
struck_at_start = _scenario("struck_at_start", WORKLOAD, Strike(KillProcess("embedded"), when=AtStart(), lasts_s=0.2))
no_work = _scenario("no_work", Workload(tasks=0, rate_per_s=1.0), Strike(KillProcess("embedded"), when=AtStart()))


class SwallowingClient:
    """Acknowledges every submission of every third task, and discards it. By task, not by count: few clients ever submit three times."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def invoke(self, operation: Operation) -> Outcome:
        if isinstance(operation, Submit) and operation.task in SWALLOWED:
            return Outcome("ok", id=f"nothing-{operation.task}")
        return self._client.invoke(operation)

    def close(self) -> None:
        self._client.close()


@dataclass(frozen=True, slots=True)
class Swallower(Reference):
    """Acknowledges what it never stores."""

    name: str = "swallower"

    def client(self, services: Services) -> Client:
        return SwallowingClient(Reference.client(self, services))


@dataclass(frozen=True, slots=True)
class Boaster(Swallower):
    """Acknowledges what it never stores, and lists it as done."""

    name: str = "boaster"

    def account(self, services: Services) -> Account:
        account = Reference.account(self, services)
        if len(account.done or ()) < 2:
            return account  # before the first task of a client: a list of what nobody has submitted yet is refused
        everything = tuple(sorted({*(account.done or ()), *(f"task-{number:04d}" for number in range(1, 13))}))
        return Account(done=everything, dead=(), cancelled=(), expired=(), pending=())


@dataclass(frozen=True, slots=True)
class Breaker(Reference):
    """Cannot say what became of its tasks: its plug-in has a bug."""

    name: str = "breaker"

    def account(self, services: Services) -> Account:
        raise KeyError("no such table")


@dataclass(frozen=True, slots=True)
class Decoy(Reference):
    """Has a worker that does nothing, beside a process that does everything: faults aimed at the worker hit nobody at work."""

    name: str = "decoy"

    def embedded_processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        (everything,) = Reference.embedded_processes(self, services, handlers)
        idle = ProcessSpec("worker-1", "worker", ["sleep", "1000"], handlers.environment_of("worker-1"))
        return [idle, replace(everything, also=("api", "relay", "rescuer"))]


FRONT = """
import sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Front(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if sys.argv[2] == "hangs":
            time.sleep(30)
        elif sys.argv[2] == "answers 500":
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()
        self.close_connection = True
    def log_message(self, *words): pass
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Front).serve_forever()
"""


class UnsureClient:
    """Takes the warm-up; of every other submission it cannot say what became of it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def invoke(self, operation: Operation) -> Outcome:
        if isinstance(operation, Submit) and operation.task != "warm-up":
            return Outcome("info", detail="HTTP status 500")
        return self._client.invoke(operation)

    def close(self) -> None:
        self._client.close()


@dataclass(frozen=True, slots=True)
class Failing(Reference):
    """Takes the warm-up and no other task. For a load: its API `answers 500`, `hangs`, or `closes` the connection."""

    name: str = "failing"
    how: str = "answers 500"

    def client(self, services: Services) -> Client:
        return UnsureClient(HttpClient(Reference.api_url(self, services), token_of(services)))

    def api_url(self, services: Services) -> str:
        return f"http://127.0.0.1:{services.http_port + 1}"

    def embedded_processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        argv = [sys.executable, "-c", FRONT, str(services.http_port + 1), self.how]
        front = ProcessSpec("front", "front", argv, {})
        return [*Reference.embedded_processes(self, services, handlers), front]


@dataclass(frozen=True, slots=True)
class Remembering(Reference):
    """Lists the tasks of every run that it ever had."""

    name: str = "remembering"

    def account(self, services: Services) -> Account:
        account = Reference.account(self, services)
        return replace(account, done=(*(account.done or ()), "task-of-yesterday"))


failing = Failing()
hanging = Failing(how="hangs")
closing = Failing(how="closes")
remembering = Remembering()
swallower = Swallower()
decoy = Decoy()
breaker = Breaker()
boaster = Boaster()
