"""What is planned of a run: submissions with the time at which each is due, and what a person does meanwhile. Frozen data."""

from dataclasses import dataclass

from scenarios.contract.system import Pace, Pause, Policy, Resume, SetSchedule, Submit

TRIES_MAX = 6
"""How often a client submits the same task until it is acknowledged."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A submission and when it is due, in seconds since the workload began; due whatever became of those before (open loop).

    `tries`: how often at most it is made until it is acknowledged. `again`: how often it is made once more after that, by the same key.
    `cancel_s`: how long after its acknowledgement it is withdrawn; None: never.
    """

    at_s: float
    submit: Submit
    tries: int = TRIES_MAX
    again: int = 0
    cancel_s: float | None = None


@dataclass(frozen=True, slots=True)
class RedriveWhenDead:
    """A person reads the status of the task until it says DEAD, and puts it back."""

    task: str


@dataclass(frozen=True, slots=True)
class Act:
    """What a person does, and when: seconds since the workload began."""

    at_s: float
    does: Pause | Resume | SetSchedule | RedriveWhenDead


@dataclass(frozen=True, slots=True)
class Limits:
    """What a plan has to know of the system: its limits, its pace, and what it can do."""

    policy: Policy
    pace: Pace
    capabilities: frozenset[str] = frozenset()

    @property
    def attempts_max(self) -> int:
        """The maximum number of attempts of a task; 1 if the system states none."""
        return self.policy.attempts_max or 1

    def allow(self, needs: frozenset[str]) -> bool:
        """Whether the system can do all of this."""
        return needs <= self.capabilities
