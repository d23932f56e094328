"""The instants that frame a run: its end, its phases, and the instants of each fault."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from scenarios.record.history import FOREVER_NS, NS_PER_S, FaultSpan, History
from scenarios.record.run_facts import FaultRecord, RunFacts


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the run (storm, calm, drain); it lasts until the next phase begins."""

    name: str
    begun_ns: int


@dataclass(frozen=True, slots=True)
class RunTimeline:
    """The frame of every picture of a run: its end, its phases in order, and its faults with the letters that name them."""

    end_ns: int
    phases: tuple[Phase, ...]
    faults: tuple[tuple[str, FaultRecord], ...]

    def faults_at(self, t_ns: int) -> tuple[str, ...]:
        """The letters of the faults that were active, or not yet healed, at an instant; a fault that never took effect was not."""
        return tuple(
            letter
            for letter, fault in self.faults
            if fault.begun_ns is not None
            and fault.bit_ns is not None
            and fault.begun_ns <= t_ns <= self._until_ns(fault)
        )

    def _until_ns(self, fault: FaultRecord) -> int:
        return self.end_ns if fault.healed_ns is None else fault.healed_ns

    def phase_at(self, t_ns: int) -> str:
        """The phase at an instant; empty before the first."""
        return next((phase.name for phase in reversed(self.phases) if phase.begun_ns <= t_ns), "")


def timeline_of(facts: RunFacts, history: History) -> RunTimeline:
    """The frame of a run, from run.json; the history completes it if the run was killed before it could write run.json."""
    faults = _completed(facts.strikes, history.faults)
    phases = sorted(facts.phases_ns.items(), key=lambda item: item[1])
    return RunTimeline(
        end_ns=_end_ns(facts, history, faults),
        phases=tuple(Phase(name, begun_ns) for name, begun_ns in phases),
        faults=tuple((_letter(index), fault) for index, fault in enumerate(faults)),
    )


def _letter(index: int) -> str:
    """A, B, … Z, A2, B2, …"""
    turn, place = divmod(index, 26)
    return chr(ord("A") + place) + (str(turn + 1) if turn else "")


def _end_ns(facts: RunFacts, history: History, faults: Iterable[FaultRecord]) -> int:
    """The last recorded instant."""
    instants: list[int | None] = [*facts.phases_ns.values(), *(event.t_ns for event in history.events[-1:])]
    for fault in faults:
        instants += (fault.begun_ns, fault.bit_ns, fault.ended_ns, fault.healed_ns)
    return max((t_ns for t_ns in instants if t_ns is not None), default=round((facts.took_s or 0) * NS_PER_S))


def _completed(planned: Iterable[FaultRecord], spans: Iterable[FaultSpan]) -> list[FaultRecord]:
    """The planned faults, with the instants that run.json lacks taken from the history.

    A span belongs to the first planned fault of its kind that no earlier span belongs to; a span without one is added at the end.
    """
    faults = list(planned)
    open_places = list(range(len(faults)))
    for span in spans:
        place = next((place for place in open_places if _may_be(faults[place], span)), None)
        if place is None:
            faults.append(_filled(FaultRecord(fault=span.fault, target=span.target, when=""), span))
        else:
            open_places.remove(place)
            faults[place] = _filled(faults[place], span)
    return faults


def _may_be(fault: FaultRecord, span: FaultSpan) -> bool:
    """Whether run.json and the history may describe the same fault. run.json has the real target only after the fault began."""
    if fault.begun_ns is None:
        return fault.fault == span.fault and not fault.problem
    return (fault.fault, fault.target) == (span.fault, span.target)


def _filled(fault: FaultRecord, span: FaultSpan) -> FaultRecord:
    healed_ns = None if span.healed_ns == FOREVER_NS else span.healed_ns
    return msgspec.structs.replace(
        fault,
        begun_ns=span.begun_ns if fault.begun_ns is None else fault.begun_ns,
        bit_ns=span.bit_ns if fault.bit_ns is None else fault.bit_ns,
        ended_ns=span.ended_ns if fault.ended_ns is None else fault.ended_ns,
        healed_ns=healed_ns if fault.healed_ns is None else fault.healed_ns,
    )
