"""A world to be, in data without any chance left in it but its seed: what a token carries, what shrinking makes smaller."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from chaos.faults import FAULTS, Fault
from chaos.simulation.network.delays import Stated
from chaos.simulation.network.failpoints import CallFault, Cut, Kill, Pause, Undo
from scenarios.experiment import scenario
from scenarios.experiment.scenario import Trigger
from scenarios.simulated.system import Sizes


class PlannedTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task that clients hand in at `at_s`, up to `tries` times until it is acknowledged, perhaps `twice` at the same time.

    `cancel_s`: how long after its acknowledgement it is withdrawn; None: never.
    """

    at_s: float
    task: str
    payload: dict[str, Any]
    user: str = "user-1"
    tries: int = 6
    twice: bool = False
    cancel_s: float | None = None
    deadline_s: float | None = None


class PlannedStrike(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault by its name and fields; when, by a trigger's name and fields, or `at_s`; and how long it lasts."""

    fault: str
    aim: dict[str, Any]
    when: str = ""
    trigger: dict[str, Any] = {}
    at_s: float | None = None
    lasts_s: float | None = 0.0  # None: until the next strike bites


class PlannedMishap(msgspec.Struct, frozen=True, omit_defaults=True):
    """What befalls the `call`-th call of a fiber (from 1). `lasts_s`: until a killed process is back, a paused one goes on."""

    fiber: str
    call: int
    kind: str
    side: str = "before"
    lasts_s: float = 0.5
    code: int = 0

    def mishap(self) -> CallFault:
        """As the network carries it out."""
        side: Any = self.side
        match self.kind:
            case "kill":
                return Kill(side)
            case "pause":
                return Pause(side)
            case "cut":
                return Cut(side, self.lasts_s)
            case "undo":
                return Undo(self.code)
            case _:
                raise ValueError(f"no mishap is called {self.kind!r}")


class DelayPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """How requests and answers are delayed: `steady`, `erratic`, or `preempting` (see chaos.simulation.network.delays), or as `stated`."""

    kind: str = "steady"
    slow_share: float = 0.0
    slow_s: float = 0.0
    times: int = 0
    among: int = 0
    stated: dict[str, dict[int, int]] = {}


class WorldPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that decides what happens in a world, beside the code."""

    scenario: str
    seed: int
    tasks: tuple[PlannedTask, ...]
    sizes: Sizes = Sizes()
    strikes: tuple[PlannedStrike, ...] = ()
    mishaps: tuple[PlannedMishap, ...] = ()
    skews: dict[str, tuple[float, float]] = {}  # by process: seconds that its wall clock is off, and its rate
    delays: DelayPlan = DelayPlan()
    forgets_queues: bool = True  # whether a killed broker may forget a queue that was declared just before
    read_every_s: float = 0.0  # 0: nobody polls statuses while tasks run
    must_bite: bool = False  # whether a strike whose moment never comes makes the run unknown
    patience_s: float = 3.0  # how long after the last submission a fault may still wait for its moment


_TRIGGERS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        scenario.AtStart,
        scenario.AttemptBegun,
        scenario.EffectAccepted,
        scenario.LeaderAtWork,
        scenario.Effects,
        scenario.PreviousBit,
    )
}


def planned(strike: scenario.Strike) -> PlannedStrike:
    """A strike of a scenario, chance already taken out of it by `nemesis.plan`."""
    until_next = isinstance(strike.lasts_s, scenario.UntilNextBites)
    return PlannedStrike(
        fault=strike.fault.name,
        aim=strike.fault.fields(),
        when=type(strike.when).__name__,
        trigger=asdict(strike.when),
        lasts_s=None if until_next else float(strike.lasts_s),  # type: ignore[arg-type]
    )


def fault_of(strike: PlannedStrike) -> Fault:
    """The fault."""
    return FAULTS[strike.fault](**strike.aim)


def trigger_of(strike: PlannedStrike) -> Trigger | None:
    """What it waits for; None: for `at_s`."""
    if strike.at_s is not None:
        return None
    trigger: Trigger = _TRIGGERS[strike.when](**strike.trigger)
    return trigger


def mishaps_by_call(plan: WorldPlan) -> dict[str, dict[int, CallFault]]:
    """As the network looks them up."""
    found: dict[str, dict[int, CallFault]] = {}
    for mishap in plan.mishaps:
        found.setdefault(mishap.fiber, {})[mishap.call] = mishap.mishap()
    return found


def stated_delays(plan: WorldPlan) -> Stated:
    """As the network looks them up."""
    return plan.delays.stated
