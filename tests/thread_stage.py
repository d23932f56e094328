"""A stage of threads without any service or process: what it is given decides what its faults, clients and processes do."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chaos.errors import ChaosError, FaultDidNotBite, FaultDidNotHeal
from chaos.faults import Fault
from chaos.injection import Evidence
from scenarios.contract.system import Client
from scenarios.experiment.outside import Outside
from scenarios.experiment.stage import Death, Flow
from scenarios.experiment.submissions import Submissions
from scenarios.real.flows import ThreadFlow, ThreadSignal
from scenarios.record.history import Event

WORKERS = {"worker-1": ("worker",), "worker-2": ("worker",)}


@dataclass
class FakeInjection:
    """A fault that does as it is told; `did`: its steps, in order."""

    fault: Fault
    bites: Callable[[], bool]
    heals: bool
    target: str = ""
    did: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.target = self.fault.struck_process or self.fault.struck_service or "?"

    def begin(self) -> None:
        self.did.append("begin")

    def await_bite(self, timeout_s: float) -> Evidence:
        if not self.bites():
            raise FaultDidNotBite("fault", self.target, "nothing was seen")
        self.did.append("bit")
        return Evidence("seen")

    def end(self) -> None:
        if self.did[-1:] != ["end"]:
            self.did.append("end")

    def await_healed(self, timeout_s: float) -> None:
        if not self.heals:
            raise FaultDidNotHeal("fault", self.target, "it does not answer")
        self.did.append("healed")


class Events:
    """A `scenarios.experiment.stage.Records` that keeps what it is given; its clock counts events."""

    def __init__(self) -> None:
        self.recorded: list[dict[str, Any]] = []

    @property
    def names(self) -> list[str]:
        return [one["event"] for one in self.recorded]

    @property
    def seen(self) -> list[tuple[str, str]]:
        """Every event with its target, or else its actor."""
        return [(one["event"], one.get("target") or one["actor"]) for one in self.recorded]

    def record(self, event: str, *, actor: str, **fields: Any) -> None:
        self.recorded.append({"event": event, "actor": actor, "t_ns": self.now_ns(), **fields})

    def append(self, event: Event) -> None:
        self.recorded.append({"event": event.event, "actor": event.actor, "t_ns": event.t_ns})

    def now_ns(self) -> int:
        return len(self.recorded) + 1


class ThreadStage:
    """A `scenarios.experiment.stage.Stage`. `alive`: its processes that run; `restart_error`: why none can be started again."""

    def __init__(
        self,
        *,
        bites: Callable[[], bool] = lambda: True,
        heals: bool = True,
        roles: Mapping[str, tuple[str, ...]] = WORKERS,
        make_client: Callable[[], Client] | None = None,
        restart_helps: bool = True,
        restart_error: str = "",
    ) -> None:
        self.events = Events()
        self.roles = roles
        self.alive = set(roles)
        self.injections: list[FakeInjection] = []
        self.outside = Outside(Events(), lambda: 0, self.signal)
        self.submissions = Submissions(Events(), lambda: 0, self.signal())
        self.said: list[str] = []
        self._bites = bites
        self._heals = heals
        self._make_client = make_client
        self._restart_helps = restart_helps
        self._restart_error = restart_error
        self._problems: list[str] = []

    def now_ns(self) -> int:
        return self.events.now_ns()

    def ended_attempts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (), ()

    def since_start_ns(self, at_ns: int) -> int:
        return at_ns

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def spawn(self, name: str, body: Callable[[], None]) -> Flow:
        return ThreadFlow(name, body, self._problems.append)

    def signal(self) -> ThreadSignal:
        return ThreadSignal()

    def records(self, source: str) -> Events:
        return self.events

    def say(self, text: str) -> None:
        self.said.append(text)

    def client(self, name: str) -> Client:
        assert self._make_client is not None, "this test needs no client"
        return self._make_client()

    def restart(self, process: str) -> None:
        if self._restart_error:
            raise ChaosError(self._restart_error)
        if self._restart_helps:
            self.alive.add(process)

    def is_alive(self, process: str) -> bool:
        return process in self.alive

    def injection(self, fault: Fault, number: int) -> FakeInjection:
        self.injections.append(FakeInjection(fault, self._bites, self._heals))
        return self.injections[-1]

    def problems(self) -> Sequence[str]:
        return tuple(self._problems)


def death(process: str, how: str = "exit code 7", *, seen_alive_ns: int = 0) -> Death:
    return Death(process, how, seen_alive_ns, f"{process}.log")
