"""Call faults in a running world: applied on request of the network, recorded in the history, healed after their duration."""

from collections.abc import Sequence

from chaos.faults import KillProcess, KillService, PauseProcess
from chaos.simulation.kernel.clock import ns
from chaos.simulation.kernel.scheduler import Fiber, Life, Waiters
from chaos.simulation.kernel.trace import Step
from chaos.simulation.network.call_faults import (
    CallFault,
    CutAtCall,
    KillAtCall,
    KillDatabaseAtCall,
    PauseAtCall,
    UndoAtCall,
)
from chaos.simulation.world import SimulatedProcess, World
from scenarios.record.run_facts import FaultRecord
from scenarios.simulated.coverage import Coverage, phase_at_call, phase_of
from scenarios.simulated.record import EventList
from scenarios.simulated.worlds.plan import PlannedCallFault


class CallFaults:
    """The call faults of one world. `records`: one for each that has struck; `calls_at_first`: calls by fiber when the first struck."""

    def __init__(self, planned: Sequence[PlannedCallFault], coverage: Coverage) -> None:
        self._planned = {(fault.fiber, fault.call): fault for fault in planned}
        self._coverage = coverage
        self._struck: set[tuple[str, int]] = set()
        self._down: set[str] = set()
        self._unhealed = 0
        self.records: list[FaultRecord] = []
        self.calls_at_first: dict[str, int] = {}
        self.healed: Waiters = []

    def set_up(self, world: World, events: EventList) -> None:
        """Set the world that they strike, once it exists."""
        self._world = world
        self._events = events

    def missed(self) -> list[PlannedCallFault]:
        """The faults whose call never came."""
        return [fault for place, fault in self._planned.items() if place not in self._struck]

    @property
    def are_healed(self) -> bool:
        """Whether every fault that has struck is over."""
        return self._unhealed == 0

    def holds_down(self, process: str) -> bool:
        """Whether a call fault has killed the process and will restart it."""
        return process in self._down

    def apply(self, fiber: Fiber, service: str, what: str, fault: CallFault) -> None:
        """Apply the fault of this fiber's current call; called by the network."""
        planned = self._planned[fiber.name, fiber.calls]
        self._struck.add((fiber.name, fiber.calls))
        process = self._world.process_of(fiber)
        name, target = _named(fault, process.name if process is not None else "client", service)
        if process is not None:
            phase = phase_of(fiber.name, process.plan.role, self._world.trace.steps)
            self._coverage.add(name, [phase for phase in [phase_at_call(phase, what, planned.side)] if phase])
        self._unhealed += 1
        self.calls_at_first = self.calls_at_first or dict(self._world.network.calls)
        self._record("fault.begin", name, target)
        self._strike(fiber, process, fault)
        seen = (
            f"{planned.side} {_in_words(what, fiber.name, self._world.trace.steps)}, call {fiber.calls} of {fiber.name}"
        )
        self._record("fault.bit", name, target, detail=seen)
        healed_ns = self._world.now_ns + ns(0.0 if isinstance(fault, UndoAtCall) else planned.lasts_s)
        self._keep_record(name, target, f"at call {fiber.calls} of {fiber.name}", seen, healed_ns)
        self._world.scheduler.at(healed_ns, lambda: self._heal(name, target, process, fiber.life, fault))

    def _keep_record(self, name: str, target: str, when: str, seen: str, healed_ns: int) -> None:
        now_ns = self._world.now_ns
        self.records.append(
            FaultRecord(
                fault=name,
                target=target,
                when=when,
                begun_ns=now_ns,
                bit_ns=now_ns,
                ended_ns=healed_ns,
                healed_ns=healed_ns,
                evidence=seen,
            )
        )

    def _strike(self, fiber: Fiber, process: SimulatedProcess | None, fault: CallFault) -> None:
        if isinstance(fault, KillAtCall):
            assert process is not None, "clients are not killed"
            self._down.add(process.name)
            self._events.record("crash", actor=process.name, asked_ns=self._world.now_ns)
            self._world.kill(process)
        elif isinstance(fault, PauseAtCall):
            self._world.scheduler.pause(fiber.life)
        elif isinstance(fault, KillDatabaseAtCall):
            self._world.database.kill()

    def _heal(self, name: str, target: str, process: SimulatedProcess | None, life: Life, fault: CallFault) -> None:
        self._record("fault.end", name, target)
        if isinstance(fault, KillAtCall):
            assert process is not None, "clients are not killed"
            self._down.discard(process.name)
            if not process.is_alive():
                self._events.record("restart", actor=process.name, asked_ns=self._world.now_ns)
                self._world.start(process)
        elif isinstance(fault, PauseAtCall) and life.paused:
            self._world.scheduler.resume(life)
        elif isinstance(fault, KillDatabaseAtCall):
            self._world.database.start()
        self._record("fault.healed", name, target)
        self._unhealed -= 1
        self._world.scheduler.wake(self.healed)

    def _record(self, event: str, fault: str, target: str, detail: str | None = None) -> None:
        asked_ns = self._world.now_ns  # requested and observed at the same instant
        self._events.record(event, actor="lab", fault=fault, target=target, asked_ns=asked_ns, detail=detail)


def _in_words(what: str, fiber: str, steps: Sequence[Step]) -> str:
    """The call as text; a commit with its statements."""
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


def _named(fault: CallFault, process: str, service: str) -> tuple[str, str]:
    match fault:
        case KillAtCall():
            return KillProcess.name, process
        case PauseAtCall():
            return PauseProcess.name, process
        case CutAtCall("before"):
            return "network_request_lost", f"{process}→{service}"
        case CutAtCall():
            return "network_answer_lost", f"{process}→{service}"
        case KillDatabaseAtCall():
            return KillService.name, service
        case UndoAtCall():
            return "database_undone", f"{process}→{service}"
