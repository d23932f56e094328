"""Mishaps of single calls in a running world: carried out when the network says so, told to the history, healed in time."""

from collections.abc import Sequence

from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Fiber, Life, Waiters
from chaos.simulation.kernel.trace import Step
from chaos.simulation.network.failpoints import CallFault, Cut, Kill, Pause, Undo
from chaos.simulation.world import SimulatedProcess, World
from scenarios.record.run_facts import FaultRecord
from scenarios.simulated.coverage import Coverage, stage_at_call, stage_of
from scenarios.simulated.record import EventList
from scenarios.simulated.worlds.plan import PlannedMishap


class Mishaps:
    """Those of one world; `told` says of each that has struck how it went, `calls_at_first` how many calls there were by the first."""

    def __init__(self, planned: Sequence[PlannedMishap], coverage: Coverage) -> None:
        self._planned = {(mishap.fiber, mishap.call): mishap for mishap in planned}
        self._coverage = coverage
        self._struck: set[tuple[str, int]] = set()
        self._down: set[str] = set()
        self._open = 0
        self.told: list[FaultRecord] = []
        self.calls_at_first: dict[str, int] = {}
        self.healed: Waiters = []

    def set_up(self, world: World, events: EventList) -> None:
        """The world that they strike, once there is one."""
        self._world = world
        self._events = events

    def missed(self) -> list[PlannedMishap]:
        """Those whose call never came."""
        return [mishap for place, mishap in self._planned.items() if place not in self._struck]

    @property
    def are_healed(self) -> bool:
        """Whether everything that has struck is over."""
        return self._open == 0

    def holds_down(self, process: str) -> bool:
        """Whether a mishap has killed it and is going to start it again."""
        return process in self._down

    def befall(self, fiber: Fiber, service: str, what: str, mishap: CallFault) -> None:
        """The network asks for the mishap of this fiber's present call."""
        planned = self._planned[fiber.name, fiber.calls]
        self._struck.add((fiber.name, fiber.calls))
        process = self._world.process_of(fiber)
        fault, target = _named(mishap, process.name if process is not None else "client", service)
        if process is not None:
            stage = stage_of(fiber.name, process.plan.role, self._world.trace.steps)
            self._coverage.add(fault, [phase for phase in [stage_at_call(stage, what, planned.side)] if phase])
        self._open += 1
        self.calls_at_first = self.calls_at_first or dict(self._world.network.calls)
        self._tell("fault.begin", fault, target)
        self._strike(fiber, process, mishap)
        call = _in_words(what, fiber.name, self._world.trace.steps)
        seen = f"{planned.side} {call}, call {fiber.calls} of {fiber.name}"
        self._tell("fault.bit", fault, target, detail=seen)
        begun_ns = self._world.now_ns
        healed_ns = begun_ns + ns(0.0 if isinstance(mishap, Undo) else planned.lasts_s)
        self.told.append(
            FaultRecord(
                fault=fault,
                target=target,
                when=f"at call {fiber.calls} of {fiber.name}",
                begun_ns=begun_ns,
                bit_ns=begun_ns,
                ended_ns=healed_ns,
                healed_ns=healed_ns,
                evidence=seen,
            )
        )
        self._world.scheduler.at(healed_ns, lambda: self._heal(fault, target, process, fiber.life, mishap))

    def _strike(self, fiber: Fiber, process: SimulatedProcess | None, mishap: CallFault) -> None:
        if isinstance(mishap, Kill):
            assert process is not None, "clients are not killed"
            self._down.add(process.name)
            self._events.record("crash", actor=process.name)
            self._world.kill(process)
        elif isinstance(mishap, Pause):
            self._world.scheduler.pause(fiber.life)

    def _heal(self, fault: str, target: str, process: SimulatedProcess | None, life: Life, mishap: CallFault) -> None:
        self._tell("fault.end", fault, target)
        if isinstance(mishap, Kill):
            assert process is not None, "clients are not killed"
            self._down.discard(process.name)
            if not process.is_alive():
                self._events.record("restart", actor=process.name)
                self._world.start(process)
        elif isinstance(mishap, Pause) and life.paused:
            self._world.scheduler.resume(life)
        self._tell("fault.healed", fault, target)
        self._open -= 1
        self._world.scheduler.wake(self.healed)

    def _tell(self, event: str, fault: str, target: str, detail: str | None = None) -> None:
        self._events.record(event, actor="lab", fault=fault, target=target, detail=detail)


def _in_words(what: str, fiber: str, steps: Sequence[Step]) -> str:
    """The call; of a commit, with what it commits."""
    if what != "commit":
        return what
    written: list[str] = []
    for step in reversed(steps):
        if step.fiber == fiber and step.service == "mysql":
            if step.what == "commit" and written:
                break
            if step.what.startswith(("insert", "update", "delete")):
                written.insert(0, step.what)
    return f"commit of {', '.join(dict.fromkeys(written))}" if written else what


def _named(mishap: CallFault, process: str, service: str) -> tuple[str, str]:
    match mishap:
        case Kill():
            return "process_killed", process
        case Pause():
            return "process_paused", process
        case Cut("before"):
            return "network_request_lost", f"{process}→{service}"
        case Cut():
            return "network_answer_lost", f"{process}→{service}"
        case Undo():
            return "database_undone", f"{process}→{service}"
