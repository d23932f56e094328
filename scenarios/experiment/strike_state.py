"""The state of one strike of a run: the only mutable form of a fault; its record in run.json is made from it."""

from dataclasses import dataclass

from chaos.faults import Fault
from chaos.injection import Evidence
from scenarios.experiment.outside import SyncPoint
from scenarios.experiment.scenario import Strike
from scenarios.record.run_facts import FaultRecord

NO_EVIDENCE = Evidence("")


@dataclass(slots=True, eq=False)
class StrikeState:
    """The state of a strike; written by its own flow, read by others.

    `fault`: the planned fault, aimed at its actual process as soon as that is known. `subject`: the task or resource of the caught
    process. `bite_asked_ns`: the earliest instant of the bite. `acknowledged`: number of acknowledged submissions at the bite,
    `waiting`: of acknowledged tasks without an effect.
    `answered_before`, `attempts_before`: answered submissions and attempts at the begin (a failover bites seconds later). `answered`,
    `attempts`: their number from the begin until it healed. `under_way`: submissions that had no answer when it healed.
    """

    strike: Strike
    fault: Fault
    sync_point: SyncPoint | None = None
    target: str = "?"
    subject: str = ""
    roles: tuple[str, ...] = ()
    begun_ns: int | None = None
    bite_asked_ns: int | None = None
    bit_ns: int | None = None
    ended_ns: int | None = None
    healed_ns: int | None = None
    acknowledged: int = 0
    waiting: int | None = None
    answered_before: int = 0
    attempts_before: int = 0
    answered: int | None = None
    under_way: int | None = None
    attempts: int | None = None
    evidence: Evidence = NO_EVIDENCE
    problem: str = ""
    is_over: bool = False

    def facts(self) -> FaultRecord:
        """For run.json."""
        return FaultRecord(
            fault=self.fault.name,
            target=self.target,
            when=self.strike.when.words(),
            begun_ns=self.begun_ns,
            bit_ns=self.bit_ns,
            ended_ns=self.ended_ns,
            healed_ns=self.healed_ns,
            evidence=self.evidence.words,
            problem=self.problem,
            roles=self.roles,
            excuses=self.fault.excuses,
            waiting=self.waiting,
            answered=self.answered,
            under_way=self.under_way,
            attempts=self.attempts,
        )

    @property
    def is_on(self) -> bool:
        """Whether the fault is active now."""
        return self.bit_ns is not None and self.ended_ns is None

    @property
    def holds_down(self) -> bool:
        """Whether its process is dead by it, for good, or being killed or started again by it."""
        is_over = self.healed_ns is not None and not self.fault.is_final
        return self.fault.ends_process and self.begun_ns is not None and not is_over
