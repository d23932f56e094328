"""The plan of a world as plain data, random only by its seed: tokens carry it, and shrinking makes it smaller."""

from dataclasses import asdict
from typing import Any

import msgspec

from chaos.faults import FAULTS
from chaos.simulation.network.call_faults import (
    CallFault,
    CutAtCall,
    KillAtCall,
    KillDatabaseAtCall,
    PauseAtCall,
    UndoAtCall,
)
from scenarios.experiment.scenario import AtTime, Strike, Trigger, UntilNextBites
from scenarios.experiment.triggers import TRIGGERS
from scenarios.simulated.system import Sizes

SURE_TRIES = 6
"""With so many tries a client surely gets an answer in the end: faults are short, and rests between tries grow."""


class PlannedTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task that is submitted at `at_s`, up to `tries` times until it is acknowledged, perhaps `twice` at the same time.

    `cancel_s`: time from its acknowledgement until it is cancelled; None: never. `redriven`: a person puts it back when it is dead.
    """

    at_s: float
    task: str
    payload: dict[str, Any]
    user: str = "user-1"
    tries: int = SURE_TRIES
    twice: bool = False
    cancel_s: float | None = None
    deadline_s: float | None = None
    redriven: bool = False
    key: str | None = None  # None: its name


class PlannedStrike(msgspec.Struct, frozen=True, omit_defaults=True):
    """A strike as plain data: a fault by its name and fields; a trigger by its name and fields, or `at_s`; and how long it lasts."""

    fault: str
    aim: dict[str, Any]
    when: str = ""
    trigger: dict[str, Any] = {}
    at_s: float | None = None
    lasts_s: float | None = 0.0  # None: until the next strike bites


class PlannedCallFault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault of the `call`-th call of a fiber (from 1). `lasts_s`: until what was killed is restarted, or a paused process resumed."""

    fiber: str
    call: int
    kind: str
    side: str = "before"
    lasts_s: float = 0.5
    code: int = 0

    def call_fault(self) -> CallFault:
        """The fault for the network."""
        side: Any = self.side
        match self.kind:
            case "kill":
                return KillAtCall(side)
            case "pause":
                return PauseAtCall(side)
            case "cut":
                return CutAtCall(side, self.lasts_s)
            case "undo":
                return UndoAtCall(self.code)
            case "kill_database":
                return KillDatabaseAtCall(side)
            case _:
                raise ValueError(f"no call fault is called {self.kind!r}")


class PlannedStray(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message that the system never sent, put into its work queue at `at_s`; a letter of `body` is a byte."""

    at_s: float
    body: str


class PlannedLoss(msgspec.Struct, frozen=True, omit_defaults=True):
    """A time in which the broker loses every message that it confirms."""

    at_s: float
    lasts_s: float


class DelayPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """How requests and answers are delayed: `steady`, `erratic`, or `preempting` (see chaos.simulation.network.delays), or as `stated`."""

    kind: str = "steady"
    slow_share: float = 0.0
    slow_s: float = 0.0
    times: int = 0
    among: int = 0
    stated: dict[str, dict[int, int]] = {}


class WorldPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything, except the code, that determines a world."""

    scenario: str
    seed: int
    tasks: tuple[PlannedTask, ...]
    sizes: Sizes = Sizes()
    strikes: tuple[PlannedStrike, ...] = ()
    call_faults: tuple[PlannedCallFault, ...] = msgspec.field(default=(), name="mishaps")
    skews: dict[str, tuple[float, float]] = {}  # by process: error of its wall clock in seconds, and its rate
    delays: DelayPlan = DelayPlan()
    forgets_queues: bool = True  # whether a killed broker may forget a queue that was declared just before
    read_every_s: float = 0.0  # 0: no status is read while tasks run
    must_bite: bool = False  # whether a strike whose trigger never occurs makes the run unknown
    strays: tuple[PlannedStray, ...] = ()
    loss: PlannedLoss | None = None
    without: str = ""  # the safety net that is off (scenarios.simulated.system.NETS)
    awaits_rest: bool = False  # whether the system also has to finish work of its own (scenarios.simulated.rest)
    patience_s: float = 3.0  # how long after the last submission a fault may still wait for its trigger


def planned(strike: Strike) -> PlannedStrike:
    """A strike as plain data, with all ranges drawn by `scenarios.experiment.plan.plan`."""
    until_next = isinstance(strike.lasts_s, UntilNextBites)
    return PlannedStrike(
        fault=strike.fault.name,
        aim=strike.fault.fields(),
        when=type(strike.when).__name__,
        trigger=asdict(strike.when),
        lasts_s=None if until_next else float(strike.lasts_s),  # type: ignore[arg-type]
    )


def strike_of(strike: PlannedStrike) -> Strike:
    """The strike from plain data."""
    when: Trigger = TRIGGERS[strike.when](**strike.trigger) if strike.at_s is None else AtTime(strike.at_s)
    lasts_s = UntilNextBites() if strike.lasts_s is None else strike.lasts_s
    return Strike(FAULTS[strike.fault](**strike.aim), when, lasts_s)


def call_faults_by_call(plan: WorldPlan) -> dict[str, dict[int, CallFault]]:
    """The call faults by fiber and call, for the network."""
    found: dict[str, dict[int, CallFault]] = {}
    for fault in plan.call_faults:
        found.setdefault(fault.fiber, {})[fault.call] = fault.call_fault()
    return found
