"""Plug-ins that do one thing wrong each, beside one that does nothing wrong. Loaded in a client process."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

from chaos.faults import KillProcess
from scenarios.experiment.scenario import Between, Effects, Outlasting, Scenario, Strike, Workload
from tasklab import Account, Event, Guarantee, Outcome, Pace, Policy, ProcessSpec, Submit


class HealthyClient:
    """Keeps the tasks in the memory of the client process."""

    def __init__(self, tasks: list[str]) -> None:
        self._tasks = tasks

    def invoke(self, operation: Any) -> Any:
        if not isinstance(operation, Submit):
            return Outcome("ok", state="SUCCEEDED", percent=100.0)
        self._tasks.append(operation.task)
        return Outcome("ok", id=str(len(self._tasks)))

    def close(self) -> None:
        pass


class Healthy:
    """A system that does nothing wrong."""

    name: Any = "healthy"
    claims: Any = frozenset({Guarantee.NO_LOST_TASK})
    needs: Any = frozenset()
    make_client: Any = HealthyClient

    def __init__(self) -> None:
        self.tasks: list[str] = []

    def processes(self, services: Any, handlers: Any) -> Any:
        return [ProcessSpec("worker-1", "worker", ["sleep", "1000"], handlers.environment_of("worker-1"))]

    def client(self, services: Any) -> Any:
        return self.make_client(self.tasks)


class Able(Healthy):
    """A system with every power that a client process can have."""

    name = "able"
    pace = Pace(quiet_s=2.0, lease_s=3)
    policy = Policy(attempts_max=3, budget_s=20)
    reservations = {"process_killed": frozenset({Guarantee.NO_LOST_TASK})}  # noqa: RUF012
    versions = {"able": "1.2"}  # noqa: RUF012
    capabilities = ("submit", "status")
    embedded_processes = Healthy.processes

    def account(self, services: Any) -> Any:
        return Account(done=tuple(self.tasks), dead=(), pending=())

    def trail(self, services: Any) -> Any:
        return [Event(event="state", actor="database", t_ns=7, task="a", from_=None, to="ACCEPTED")]

    def dump(self, services: Any) -> Any:
        return dict.fromkeys(self.tasks, "row of tasks")

    def api_url(self, services: Any) -> Any:
        return f"http://127.0.0.1:{services.http_port}"


def invoking(act: Any) -> Any:
    """A healthy system, except that its client acts so on every operation."""

    class Client(HealthyClient):
        def invoke(self, operation: Any) -> Any:
            return act()

    class System(Healthy):
        make_client = Client

    return System()


def doing(method: str, act: Any) -> Any:
    """A system with every power, one of whose methods acts so."""
    return type("System", (Able,), {method: lambda self, *arguments: act()})()


def stating(**statements: Any) -> Any:
    """A healthy system that states this of itself."""
    return type("System", (Healthy,), statements)()


def hang() -> None:
    time.sleep(1000)


def leave() -> None:
    sys.exit(0)


def fail() -> None:
    raise KeyError("no such table")


def die() -> None:
    os._exit(7)


def fork_and_die() -> None:
    """The child of the plug-in goes on, and holds the connection open."""
    if os.fork():
        os._exit(7)
    time.sleep(1000)


def spoil() -> Any:
    """Writes to what was standard output, in every way there is."""
    print("printed")
    os.write(1, b"written\n")
    subprocess.run(["echo", "echoed"], check=True)
    sys.__stdout__.write("said\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]
    assert sys.stdin.read() == ""
    return Outcome("ok", id="1")


healthy = Healthy()
able = Able()
hangs = invoking(hang)
leaves = invoking(leave)
fails = invoking(fail)
dies = invoking(die)
forks = invoking(fork_and_die)
spoils = invoking(spoil)
slow = invoking(lambda: time.sleep(0.5) or Outcome("info", detail="it took a while"))
forgets = invoking(lambda: None)
counts = invoking(lambda: Outcome("ok", id=17))  # type: ignore[arg-type]
invents = invoking(lambda: Outcome("okay"))  # type: ignore[arg-type]
lone = invoking(lambda: Outcome("ok", id="\ud800"))
not_a_number = invoking(lambda: Outcome("ok", percent=float("nan")))
plain_words = invoking(lambda: {"kind": "ok", "id": "1"})
long = doing("account", lambda: Account(done=("x" * 100_000_000,)))
leaves_account = doing("account", leave)
fails_account = doing("account", fail)
hangs_account = doing("account", hang)
lists_account = doing("account", lambda: ["a"])
numbers_account = doing("account", lambda: Account(done=(1, 2)))  # type: ignore[arg-type]
leaves_processes = doing("processes", leave)
forgets_processes = doing("processes", lambda: None)
words_processes = doing("processes", lambda: ["acme worker"])
leaves_client = doing("client", leave)
forgets_client = doing("client", lambda: None)
untimed_trail = doing("trail", lambda: [Event(event="state", actor="database", task="a", to="ACCEPTED")])
pathless = doing("processes", lambda: [ProcessSpec("../../etc", "worker", ["true"])])
twice = doing("processes", lambda: [ProcessSpec("worker-1", "worker", ["true"])] * 2)
impatient = stating(pace=Pace(quiet_s=-5))
endless = stating(pace=Pace(lease_s=float("inf")))
misspelt = stating(claims={"no_lost_tusk"})
needy = stating(needs={"mysq"})
nowhere = stating(name="../../x")
nameless = stating(name=None)
own_scenario = Scenario(
    "own",
    "A worker is killed while it works, and stays away.",
    Workload(tasks=Between(5, 9), rate_per_s=20.0, work_s=Between(0.01, 0.02)),  # type: ignore[arg-type]
    (Strike(KillProcess("worker"), when=Effects(Between(2, 4)), lasts_s=Outlasting("lease", 1.5)),),
    (Guarantee.NO_LOST_TASK, Guarantee.NO_STUCK_TASK),
)
vague_scenario = replace(own_scenario, at_stake=("no_lost_tusk",))
odd_scenario = replace(own_scenario, workload=Pace())  # type: ignore[arg-type]
scattered = stating(claims="no_lost_task")
