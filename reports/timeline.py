"""When things happened in a run: its end, its phases, and each fault from being asked for to being healed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from scenarios.record.history import NS_PER_S, Event, History
from scenarios.record.run_facts import FaultRecord, RunFacts

_MOMENTS = {"fault.begin": "begun_ns", "fault.bit": "bit_ns", "fault.end": "ended_ns", "fault.healed": "healed_ns"}


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the run (storm, calm, drain) from its beginning; it lasts until the next."""

    name: str
    begun_ns: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The frame of every picture of a run: strikes with letters to name them by, phases in order, and the end of it all."""

    end_ns: int
    phases: tuple[Phase, ...]
    strikes: tuple[tuple[str, FaultRecord], ...]

    def strikes_at(self, t_ns: int) -> tuple[str, ...]:
        """The letters of the faults that were in force, or not yet healed, at a moment. What never bit was never in force."""
        return tuple(
            letter
            for letter, strike in self.strikes
            if strike.begun_ns is not None
            and strike.bit_ns is not None
            and strike.begun_ns <= t_ns <= self._until_ns(strike)
        )

    def _until_ns(self, strike: FaultRecord) -> int:
        return self.end_ns if strike.healed_ns is None else strike.healed_ns

    def phase_at(self, t_ns: int) -> str:
        """The phase a moment lies in; empty before the first."""
        return next((phase.name for phase in reversed(self.phases) if phase.begun_ns <= t_ns), "")


def timeline_of(facts: RunFacts, history: History) -> Timeline:
    """The frame of a run, from run.json; what a killed run had no time to write there is taken from its history."""
    strikes = _with_recorded_moments(facts.strikes, history.events)
    phases = sorted(facts.phases_ns.items(), key=lambda item: item[1])
    return Timeline(
        end_ns=_end_ns(facts, history, strikes),
        phases=tuple(Phase(name, begun_ns) for name, begun_ns in phases),
        strikes=tuple((_letter(index), strike) for index, strike in enumerate(strikes)),
    )


def _letter(index: int) -> str:
    """A, B, … Z, A2, B2, …"""
    turn, place = divmod(index, 26)
    return chr(ord("A") + place) + (str(turn + 1) if turn else "")


def _end_ns(facts: RunFacts, history: History, strikes: Iterable[FaultRecord]) -> int:
    """The last moment anybody recorded."""
    moments = list(facts.phases_ns.values())
    moments += [event.t_ns or 0 for event in history.events[-1:]]
    moments += [moment for strike in strikes for moment in _moments(strike).values() if moment is not None]
    return max(moments, default=round((facts.took_s or 0) * NS_PER_S))


def _moments(strike: FaultRecord) -> Mapping[str, int | None]:
    return {name: getattr(strike, name) for name in _MOMENTS.values()}


def _with_recorded_moments(planned: Iterable[FaultRecord], events: Iterable[Event]) -> list[FaultRecord]:
    """The plan as it is known, completed by the fault events of the history.

    An event belongs to the first strike of its fault that began and still lacks that moment; where the plan names none, it makes one.
    """
    strikes = list(planned)
    written = [{name for name, moment in _moments(strike).items() if moment is not None} for strike in strikes]
    seen: list[set[str]] = [set() for _ in strikes]
    for event in events:
        moment = _MOMENTS.get(event.event)
        if moment is None:
            continue
        index = next((i for i, s in enumerate(strikes) if _is_of(event, s) and moment not in seen[i]), len(strikes))
        if index == len(strikes):
            strikes.append(FaultRecord(fault=str(event.fault), target=str(event.target), when=""))
            written.append(set())
            seen.append(set())
        seen[index].add(moment)
        if moment not in written[index]:
            strikes[index] = msgspec.structs.replace(strikes[index], **{moment: event.t_ns})
    return strikes


def _is_of(event: Event, strike: FaultRecord) -> bool:
    never_began = strike.begun_ns is None and bool(strike.problem)
    return strike.fault == event.fault and not never_began
