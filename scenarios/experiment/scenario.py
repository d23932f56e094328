"""The parts of a scenario: what clients do, which fault strikes when, and which promises are at stake. Frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.faults import Fault
from scenarios.experiment.acts import Deed as Deed
from scenarios.experiment.acts import PausesTasks as PausesTasks
from scenarios.experiment.acts import RedrivesDead as RedrivesDead
from scenarios.experiment.acts import SetsSchedule as SetsSchedule
from scenarios.experiment.ranges import Between as Between
from scenarios.experiment.traits import FailsUnknown as FailsUnknown
from scenarios.experiment.traits import HasChildren as HasChildren
from scenarios.experiment.traits import HasDeadline as HasDeadline
from scenarios.experiment.traits import HasPriority as HasPriority
from scenarios.experiment.traits import HasResult as HasResult
from scenarios.experiment.traits import HasScope as HasScope
from scenarios.experiment.traits import IsCancelled as IsCancelled
from scenarios.experiment.traits import IsDueBeyondLease as IsDueBeyondLease
from scenarios.experiment.traits import IsOrdered as IsOrdered
from scenarios.experiment.traits import IsResubmitted as IsResubmitted
from scenarios.experiment.traits import IsScheduled as IsScheduled
from scenarios.experiment.traits import KillsWorker as KillsWorker
from scenarios.experiment.traits import OfFewUsers as OfFewUsers
from scenarios.experiment.traits import OutlastsDeadline as OutlastsDeadline
from scenarios.experiment.traits import OutlastsLease as OutlastsLease
from scenarios.experiment.traits import ReportsProgress as ReportsProgress
from scenarios.experiment.traits import SharesKey as SharesKey
from scenarios.experiment.traits import Trait as Trait
from scenarios.experiment.triggers import AtStart as AtStart
from scenarios.experiment.triggers import AttemptBegun as AttemptBegun
from scenarios.experiment.triggers import AtTime as AtTime
from scenarios.experiment.triggers import EffectAccepted as EffectAccepted
from scenarios.experiment.triggers import Effects as Effects
from scenarios.experiment.triggers import LeaderAtWork as LeaderAtWork
from scenarios.experiment.triggers import PreviousBit as PreviousBit
from scenarios.experiment.triggers import PreviousOver as PreviousOver
from scenarios.experiment.triggers import Trigger as Trigger
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.premise import Premise as Premise
from scenarios.judging.premises import CancelledInTime as CancelledInTime
from scenarios.judging.premises import DeadlinePassed as DeadlinePassed
from scenarios.judging.premises import DiedOfTask as DiedOfTask
from scenarios.judging.premises import EnoughWork as EnoughWork
from scenarios.judging.premises import LeaseOutlasted as LeaseOutlasted
from scenarios.judging.premises import Seen as Seen
from scenarios.judging.premises_of_strikes import AckOfKnownTask as AckOfKnownTask
from scenarios.judging.premises_of_strikes import FailedDuring as FailedDuring
from scenarios.judging.premises_of_strikes import KilledAfterEffect as KilledAfterEffect
from scenarios.judging.premises_of_strikes import LockTakenOver as LockTakenOver
from scenarios.judging.premises_of_strikes import LostAtWork as LostAtWork
from scenarios.judging.premises_of_strikes import OpenDuring as OpenDuring
from scenarios.judging.premises_of_strikes import StruckAtWork as StruckAtWork
from scenarios.judging.premises_of_strikes import TaskTakenOver as TaskTakenOver
from scenarios.judging.premises_of_strikes import Waiting as Waiting
from scenarios.judging.premises_of_strikes import WorkDuring as WorkDuring


@dataclass(frozen=True, slots=True)
class UntilNextBites:
    """Until the next strike bites."""


@dataclass(frozen=True, slots=True)
class Outlasting:
    """Long enough for the system's lease or lock (`what`) to expire: `times` its stated duration."""

    what: str
    times: float | Between[float]


Duration = float | Between[float] | UntilNextBites | Outlasting


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault: which, when, and for how long before it is lifted. `drawn`: fields of the fault that each seed draws."""

    fault: Fault
    when: Trigger
    lasts_s: Duration = 0.0
    drawn: Mapping[str, Between[int] | Between[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workload:
    """What clients do: `tasks` submissions at `rate_per_s`, each working `work_s`, each submitted again until it is accepted.

    Of every hundred tasks about `failing_once` fail once with a transient failure, `failing_always` fail until their attempts are
    used up, and `failing_for_good` fail with a permanent failure. `traits`: further
    properties of tasks; `deeds`: what is done beside them.
    """

    tasks: int
    rate_per_s: float
    work_s: float | Between[float] = 0.02
    failing_once: int = 0
    failing_always: int = 0
    failing_for_good: int = 0
    clients: int = 8
    traits: tuple[Trait, ...] = ()
    deeds: tuple[Deed, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """An experiment. `story`: one or two sentences on what happens and what must not be the result.

    `premises`: what must have been observed for the run to mean anything, beside enough work, which every run needs. `needs`: the
    capabilities without which there is nothing to observe; beyond these, traits and deeds that a system cannot have are left out.
    """

    name: str
    story: str
    workload: Workload
    strikes: tuple[Strike, ...]
    at_stake: tuple[Guarantee, ...]
    premises: tuple[Premise, ...] = ()
    needs: tuple[str, ...] = ()
