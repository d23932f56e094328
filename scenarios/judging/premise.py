"""The base of premises, and what those that ask for strikes share. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scenarios.record.history import History
from scenarios.record.run_facts import FaultRecord, RunFacts

UNSTATED_S = 2.0
"""Assumed duration of a lease or lock that a system does not state."""


@dataclass(frozen=True, slots=True)
class Premise(ABC):
    """One condition on a run."""

    @abstractmethod
    def unmet(self, history: History, facts: RunFacts) -> str:
        """Why the run does not meet it and what to change, in one sentence; empty if it does."""


def strikes_of(facts: RunFacts, fault: str) -> Iterator[FaultRecord]:
    """The strikes of this fault that bit."""
    return (strike for strike in facts.strikes if strike.fault == fault and strike.bit_ns is not None)


def targets_of(strikes: Sequence[FaultRecord]) -> str:
    """The names of their targets, for a sentence."""
    return ", ".join(dict.fromkeys(strike.target for strike in strikes)) or "a process"


def bit_ns_of(strike: FaultRecord) -> int:
    """The instant of the bite."""
    assert strike.bit_ns is not None, "only strikes that bit are used"
    return strike.bit_ns


def is_of_task(resource: str, history: History) -> bool:
    """Whether a lease is one on a task."""
    return resource.startswith("task:") or resource in history.tasks
