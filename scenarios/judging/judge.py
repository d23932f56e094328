"""The judgement of a run: every promise judged, the account, duplicates by cause, and what "0 of n" is worth. Pure.

How a checker's findings become a verdict is rules 1 and 2 of docs/history.md, and docs/adr/0002 for the lab's own failures.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from scenarios.judging.assumptions import spares_record
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
"""For how many witnesses of each broken promise the journey is told."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that can be said of a run. `verdicts` are of the promises claimed; `not_claimed`, of all others, decide nothing.

    In JSON `journeys` and `left_out` are by witness: the steps, and how many events they lack in the middle, where they do.
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
        """0 all claimed promises held; 1 one is broken; 3 none is, but one is unknown, or none was put to the test."""
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
    """Judge every promise over what was recorded, and the `unremarkable` tasks that were only counted.

    `claims` None: those promises are taken for claimed that the history puts to the test; all, where it does none.
    `problems` are the lab's own failures (a service did not start, a fault did not heal): with any, only what the events that are there
    prove is broken, and nothing is held. `violated` are what in the record contradicts itself, or what the lab knows of its own run
    (scenarios/judging/assumptions.py): with any, nothing is held either, and what is proven is broken. `unmet` are the premises of the run
    that it does not meet (scenarios/judging/premises.py): with any, nothing is held, and what is broken is broken.
    """
    history = recorded.history
    malformed = tuple(map(str, recorded.malformed))
    reconciliation = unremarkable.adds_to_reconciliation(reconcile(history, policy))
    has_work = _has_work(history) or unremarkable.tasks > 0
    standing = _standing(history, reconciliation, malformed, problems, violated, unmet, has_work=has_work)
    findings = {
        guarantee: unremarkable.adds(guarantee, check(history, policy)) for guarantee, check in CHECKERS.items()
    }
    spared = _judged_on_own_events(history, unremarkable) if standing.spares_own_events else frozenset()
    verdicts = {
        guarantee: _verdict(guarantee, found, _Standing() if guarantee in spared else standing)
        for guarantee, found in findings.items()
    }
    tested = frozenset(guarantee for guarantee, verdict in verdicts.items() if verdict.exercised)
    claimed = tested or frozenset(Guarantee) if claims is None else frozenset(claims)
    ordered = tuple(verdicts[guarantee] for guarantee in Guarantee if guarantee in claimed)
    return Judgement(
        verdicts=ordered,
        not_claimed=tuple(verdicts[guarantee] for guarantee in Guarantee if guarantee not in claimed),
        reconciliation=reconciliation,
        duplicates=_duplicates(history, policy),
        bounds={
            guarantee.value: bound(findings[guarantee].exercised)
            for guarantee, verdict in verdicts.items()
            if verdict.ruling is Ruling.HELD and verdict.exercised
        },
        journeys=_journeys(history, ordered),
        problems=(*problems, *_toothless(history), *map(str, violated), *unmet),
        malformed=malformed,
        warnings=policy.warnings or (),
    )


@dataclass(frozen=True, slots=True)
class _Standing:
    """Why nothing can be held in this run ("": it can), and on what a violation may rest all the same.

    `spares_own_events`: whether limits and leases are judged none the less.
    """

    reason: str = ""
    admits: frozenset[Proof] = frozenset(Proof)
    spares_own_events: bool = False


_ALREADY_PROVEN = frozenset({Proof.EVENTS, Proof.RECORD})


def _standing(
    history: History,
    reconciliation: Reconciliation,
    malformed: Sequence[str],
    problems: Sequence[str],
    violated: Sequence[str],
    unmet: Sequence[str],
    *,
    has_work: bool,
) -> _Standing:
    if malformed:
        more = f" (and {len(malformed) - 1} more)" if len(malformed) > 1 else ""
        return _Standing(f"the history is malformed: {malformed[0]}{more}", frozenset())
    if problems:
        return _Standing(f"the lab failed: {problems[0]}", frozenset({Proof.EVENTS}))
    toothless = _toothless(history)
    if toothless:
        return _Standing(toothless[0], _ALREADY_PROVEN)
    final = history.final
    if final is not None and not final.healed:
        return _Standing("the run ended with a fault not healed", _ALREADY_PROVEN)
    if final is not None and not final.caught_up:
        return _Standing("the drain ran out of time before the system had caught up", _ALREADY_PROVEN)
    if final is None:
        return _Standing("the history has no final account", _ALREADY_PROVEN, spares_own_events=True)
    if not has_work:
        return _Standing(
            "too little work: no submission was acknowledged or possible", _ALREADY_PROVEN, spares_own_events=True
        )
    if reconciliation.contradiction:
        return _Standing(reconciliation.contradiction, _ALREADY_PROVEN)
    if violated:
        admits = frozenset(Proof) if all(map(spares_record, violated)) else frozenset({Proof.EVENTS})
        return _Standing(f"the record cannot be believed: {violated[0]}", admits)
    if unmet:
        return _Standing(unmet[0])
    assert reconciliation.balanced, "every submitted task is in exactly one place of the account"
    return _Standing()


def _has_work(history: History) -> bool:
    return any(timeline.is_possible for timeline in history.tasks.values())


def _judged_on_own_events(history: History, unremarkable: Unremarkable) -> frozenset[Guarantee]:
    """Limits and leases need no submission and no account: where there are events of theirs, these decide."""
    spared = set()
    if history.leases or history.writes or unremarkable.leases:
        spared |= {Guarantee.SINGLE_HOLDER, Guarantee.FENCED_WRITES}
    if history.allowed_ns or history.denied:
        spared |= {Guarantee.RATE_LIMIT_RESPECTED, Guarantee.DENIED_ONLY_WHEN_FULL}
    return frozenset(spared)


def _toothless(history: History) -> list[str]:
    return [f"fault {span.fault} on {span.target} was never seen to bite" for span in history.faults if not span.bit]


def _verdict(guarantee: Guarantee, found: Findings, standing: _Standing) -> Verdict:
    proven = [violation for violation in found.violations if violation.proof in standing.admits]
    if proven:
        return broken(
            guarantee, _summary(proven), witnesses=(violation.witness for violation in proven), figures=found.figures
        )
    exercised = found.exercised > 0
    if standing.reason:
        return unknown(guarantee, standing.reason, figures=found.figures, exercised=exercised)
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
    """What none in `tested` cases says of the rate, with 95 % confidence ("rule of three")."""
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
    """The account: tasks that must not exist by name, all others by number."""
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
