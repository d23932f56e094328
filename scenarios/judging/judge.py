"""The judgement of a run: verdicts, the account, duplicates by cause, and bounds on the rate of violations. Pure.

How findings become a verdict: rules 1 and 2 of docs/history.md; with failures of the lab: docs/adr/0002.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from scenarios.judging.assumptions import is_forgery, leaves_record_intact
from scenarios.judging.causes import Cause, repeats_of
from scenarios.judging.checkers import CHECKERS
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.journey import Journey, journeys
from scenarios.judging.judgement_record import AccountRecord, JudgementRecord, VerdictRecord
from scenarios.judging.policy import Policy
from scenarios.judging.reconciliation import Reconciliation, reconcile
from scenarios.judging.unremarkable import NONE, Unremarkable
from scenarios.judging.verdict import (
    EXIT_HELD,
    EXIT_UNKNOWN,
    Findings,
    Proof,
    Ruling,
    Verdict,
    Violation,
    broken,
    exit_code_of,
    held,
    unknown,
)
from scenarios.record.history import History, Recorded

JOURNEYS_MAX = 3
"""Maximum number of journeys for each broken promise."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """All verdicts on a run. `verdicts`: of the claimed promises; `not_claimed`: of all others, for information only.

    In JSON `journeys` and `left_out` are by witness: the steps, and the number of events left out in the middle.
    """

    verdicts: tuple[Verdict, ...]
    not_claimed: tuple[Verdict, ...]
    reconciliation: Reconciliation
    duplicates: Mapping[str, int]
    bounds: Mapping[str, str]
    journeys: Mapping[str, Journey]
    problems: tuple[str, ...]
    malformed: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0: all claimed promises held; 1: one is broken; 3: none is broken, but one is unknown or none was put to the test."""
        code = exit_code_of(verdict.ruling for verdict in self.verdicts)
        tested = any(verdict.exercised for verdict in self.verdicts)
        return EXIT_UNKNOWN if code == EXIT_HELD and not tested else code

    def to_record(self) -> JudgementRecord:
        """The content of verdicts.json."""
        return JudgementRecord(
            verdicts={verdict.guarantee.value: _verdict_record(verdict) for verdict in self.verdicts},
            not_claimed={verdict.guarantee.value: _verdict_record(verdict) for verdict in self.not_claimed},
            account=account_record(self.reconciliation),
            duplicates=dict(self.duplicates),
            bounds=dict(self.bounds),
            journeys={name: journey.steps for name, journey in self.journeys.items()},
            left_out={name: journey.left_out for name, journey in self.journeys.items() if journey.left_out},
            problems=self.problems,
            malformed=self.malformed,
            warnings=self.warnings,
            exit_code=self.exit_code,
        )

    def to_json(self) -> dict[str, Any]:
        """The content of verdicts.json, in builtins."""
        return msgspec.json.decode(msgspec.json.encode(self.to_record()), type=dict[str, Any])


def judge(
    recorded: Recorded,
    *,
    claims: Iterable[Guarantee] | None,
    policy: Policy,
    problems: Sequence[str] = (),
    violated: Sequence[str] = (),
    unmet: Sequence[str] = (),
    unremarkable: Unremarkable = NONE,
) -> Judgement:
    """Judge every promise over a record and the `unremarkable` tasks that were only counted.

    `claims` None: the promises that the history puts to the test, or all if it tests none. With any of the following no promise is held.
    `problems`: failures of the lab; only present events prove a violation. `violated`: assumptions that the record violates
    (scenarios/judging/assumptions.py). `unmet`: premises that the run does not meet (scenarios/judging/premises.py).
    """
    history, malformed = recorded.history, tuple(map(str, recorded.malformed))
    reconciliation = unremarkable.add_to_reconciliation(reconcile(history, policy))
    has_work = _has_work(history) or unremarkable.tasks > 0
    restriction = _restriction(history, reconciliation, malformed, problems, violated, unmet, has_work=has_work)
    findings = _findings(history, policy, unremarkable)
    exempt = _exempt(history, unremarkable) if restriction.has_exemptions else frozenset()
    verdicts = {
        guarantee: _verdict(guarantee, found, _Restriction() if guarantee in exempt else restriction)
        for guarantee, found in findings.items()
    }
    tested = frozenset(guarantee for guarantee, verdict in verdicts.items() if verdict.exercised)
    claimed = tested or frozenset(Guarantee) if claims is None else frozenset(claims)
    ordered = tuple(verdicts[guarantee] for guarantee in Guarantee if guarantee in claimed)
    others = tuple(verdicts[guarantee] for guarantee in Guarantee if guarantee not in claimed)
    return Judgement(
        verdicts=ordered,
        not_claimed=others,
        reconciliation=reconciliation,
        duplicates=_duplicates(history, policy),
        bounds=_bounds(verdicts.values(), findings),
        journeys=_journeys(history, ordered),
        problems=(*problems, *_faults_without_bite(history), *map(str, violated), *unmet),
        malformed=malformed,
        warnings=policy.warnings or (),
    )


def _findings(history: History, policy: Policy, unremarkable: Unremarkable) -> dict[Guarantee, Findings]:
    return {guarantee: unremarkable.add_to(guarantee, check(history, policy)) for guarantee, check in CHECKERS.items()}


def _bounds(verdicts: Iterable[Verdict], findings: Mapping[Guarantee, Findings]) -> dict[str, str]:
    """For each promise that held, a bound on the rate of violations, by how often it was put to the test."""
    return {
        verdict.guarantee.value: bound(findings[verdict.guarantee].exercised)
        for verdict in verdicts
        if verdict.ruling is Ruling.HELD and verdict.exercised
    }


@dataclass(frozen=True, slots=True)
class _Restriction:
    """Why no promise can be held in this run (empty: no restriction), and which evidence still proves a violation.

    `has_exemptions`: whether limits and leases are judged without restriction.
    """

    reason: str = ""
    admits: frozenset[Proof] = frozenset(Proof)
    has_exemptions: bool = False


_ALREADY_PROVEN = frozenset({Proof.EVENTS, Proof.RECORD})


def _restriction(
    history: History,
    reconciliation: Reconciliation,
    malformed: Sequence[str],
    problems: Sequence[str],
    violated: Sequence[str],
    unmet: Sequence[str],
    *,
    has_work: bool,
) -> _Restriction:
    if malformed:
        more = f" (and {len(malformed) - 1} more)" if len(malformed) > 1 else ""
        return _Restriction(f"the history is malformed: {malformed[0]}{more}", frozenset())
    forged = next(filter(is_forgery, violated), None)
    if forged:
        return _Restriction(f"the record is not reliable: {forged}", frozenset())
    if problems:
        return _Restriction(f"the lab failed: {problems[0]}", frozenset({Proof.EVENTS}))
    without_bite = _faults_without_bite(history)
    if without_bite:
        return _Restriction(without_bite[0], _ALREADY_PROVEN)
    final = history.final
    if final is not None and not final.healed:
        return _Restriction("the run ended with a fault not healed", _ALREADY_PROVEN)
    if final is not None and not final.caught_up:
        return _Restriction("the drain timed out before the system had caught up", _ALREADY_PROVEN)
    if final is None:
        return _Restriction("the history has no final account", _ALREADY_PROVEN, has_exemptions=True)
    if not has_work:
        return _Restriction(
            "too little work: no submission was acknowledged or possible", _ALREADY_PROVEN, has_exemptions=True
        )
    if reconciliation.contradiction:
        return _Restriction(reconciliation.contradiction, _ALREADY_PROVEN)
    if violated:
        admits = frozenset(Proof) if all(map(leaves_record_intact, violated)) else frozenset({Proof.EVENTS})
        return _Restriction(f"the record is not reliable: {violated[0]}", admits)
    if unmet:
        return _Restriction(unmet[0])
    assert reconciliation.balanced, "every submitted task is in exactly one place of the account"
    return _Restriction()


def _has_work(history: History) -> bool:
    return any(timeline.is_possible for timeline in history.tasks.values())


def _exempt(history: History, unremarkable: Unremarkable) -> frozenset[Guarantee]:
    """Promises on limits and leases, if the history has such events: their checkers need no submission and no account."""
    exempt = set()
    if history.leases or history.writes or unremarkable.leases:
        exempt |= {Guarantee.SINGLE_HOLDER, Guarantee.FENCED_WRITES}
    if history.allowed_ns or history.denied:
        exempt |= {Guarantee.RATE_LIMIT_RESPECTED, Guarantee.DENIED_ONLY_WHEN_FULL}
    return frozenset(exempt)


def _faults_without_bite(history: History) -> list[str]:
    return [f"fault {span.fault} on {span.target} was never seen to bite" for span in history.faults if not span.bit]


def _verdict(guarantee: Guarantee, found: Findings, restriction: _Restriction) -> Verdict:
    proven = [violation for violation in found.violations if violation.proof in restriction.admits]
    if proven:
        return broken(
            guarantee, _summary(proven), witnesses=(violation.witness for violation in proven), figures=found.figures
        )
    exercised = found.exercised > 0
    if restriction.reason:
        return unknown(guarantee, restriction.reason, figures=found.figures, exercised=exercised)
    if found.undecided:
        return unknown(guarantee, found.undecided, figures=found.figures, exercised=exercised)
    reason = "" if exercised else "not exercised: nothing in this run put it to the test"
    return held(guarantee, reason, figures=found.figures, exercised=exercised)


def _summary(violations: Sequence[Violation]) -> str:
    first = min(violations, key=lambda violation: violation.witness)
    others = len({violation.witness for violation in violations}) - 1
    return f"{first.witness}: {first.what}" + (f" (and {others} more)" if others else "")


def _duplicates(history: History, policy: Policy) -> dict[str, int]:
    counts = Counter(repeat.cause for repeats in repeats_of(history, policy).values() for repeat in repeats)
    return {cause.value: counts[cause] for cause in Cause}


def bound(tested: int) -> str:
    """The upper bound of the rate after 0 violations in `tested` cases, with 95 % confidence ("rule of three")."""
    if tested < 3:
        return f"0 in {tested}: too few to bound the rate"
    return f"0 in {tested}: rate below {3 / tested:.2g} at 95 %"


def _journeys(history: History, verdicts: Iterable[Verdict]) -> dict[str, Journey]:
    return journeys(history, [witness for verdict in verdicts for witness in verdict.witnesses[:JOURNEYS_MAX]])


def _verdict_record(verdict: Verdict) -> VerdictRecord:
    return VerdictRecord(
        ruling=verdict.ruling,
        witnesses=verdict.witnesses,
        reason=verdict.reason,
        figures=dict(verdict.figures),
        exercised=verdict.exercised,
    )


def account_record(reconciliation: Reconciliation) -> AccountRecord:
    """The account for verdicts.json: lost and stuck tasks and strangers by name, all others as counts."""
    counts = {str(place): count for place, count in reconciliation.counts.items()}
    return AccountRecord(
        submitted=reconciliation.submitted,
        done=counts["done"],
        dead=counts["dead"],
        cancelled=counts["cancelled"],
        expired=counts["expired"],
        pending=counts["pending"],
        waiting=counts["waiting"],
        never_accepted=counts["never_accepted"],
        lost=reconciliation.lost,
        stuck=reconciliation.stuck,
        strangers=reconciliation.strangers,
        contradiction=reconciliation.contradiction,
        balanced=reconciliation.balanced,
    )
