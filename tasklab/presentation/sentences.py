"""A judgement in sentences: its verdicts, and its account."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scenarios.judging.verdict import Ruling
from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN

if TYPE_CHECKING:
    from scenarios.judging.judge import Judgement
    from scenarios.judging.reconciliation import Reconciliation
    from scenarios.record.run_facts import RunFacts

_RUN = re.compile(r"tasklab run \S+ (?P<options>.*?)(?: --environment local)?(?: --seed \d+)?")
TESTS_NAMED = 2
"""Maximum number of scenarios named for a promise that a run did not test."""

RULING_OF_EXIT = {EXIT_HELD: Ruling.HELD, EXIT_BROKEN: Ruling.BROKEN, EXIT_UNKNOWN: Ruling.UNKNOWN}


def sentence_of(judgement: "Judgement") -> str:
    """The last line of a table of verdicts, with the number of promises put to the test."""
    claimed = len(judgement.verdicts)
    tested = sum(verdict.exercised for verdict in judgement.verdicts)
    broken = [verdict.guarantee.value for verdict in judgement.verdicts if verdict.witnesses]
    code = judgement.exit_code
    if code == EXIT_BROKEN:
        return f"{len(broken)} of {_promises(claimed)} broken: {', '.join(broken)}"
    if code == EXIT_HELD:
        return f"every claimed promise held: {tested} put to the test" + (
            f", {claimed - tested} not" if tested < claimed else ""
        )
    if not claimed:
        return "unknown: the system claims no promise, so there was none to judge"
    why = next((verdict.reason for verdict in judgement.verdicts if verdict.ruling is Ruling.UNKNOWN), "")
    if is_all_one(judgement):
        return f"unknown, all {claimed} promises: {why}"
    return f"unknown: {why or f'none of {_promises(claimed)} was put to the test'}"


def untested_in_words(promise: str, facts: "RunFacts | None") -> str:
    """How to test a promise that nothing in a run tested: by the first scenarios that apply to its system."""
    command = "" if facts is None else run_again(facts, facts.tested_by.get(promise, [])[:TESTS_NAMED])
    return f"nothing tested it; try `{command}`" if command else "nothing tested it"


def run_again(facts: "RunFacts", scenarios: Sequence[str]) -> str:
    """The command that runs these scenarios on the system of a run, with its options but the seed; "" if there are none."""
    if not scenarios:
        return ""
    own = _RUN.fullmatch(facts.repeat)
    return f"tasklab run {' '.join(scenarios)} {own['options'] if own else f'--system {facts.system}'}"


def is_all_one(judgement: "Judgement") -> bool:
    """Whether several promises are all unknown for the same reason: then one sentence replaces the table."""
    answers = {(verdict.ruling, verdict.reason) for verdict in judgement.verdicts}
    return len(judgement.verdicts) > len(answers) == 1 and judgement.verdicts[0].ruling is Ruling.UNKNOWN


def shared_reason(judgement: "Judgement") -> str:
    """The common reason of several unknown promises, printed once; "" if there is none."""
    reasons = Counter(verdict.reason for verdict in judgement.verdicts if verdict.ruling is Ruling.UNKNOWN)
    return next((reason for reason, count in reasons.most_common(1) if count > 1), "")


def account_in_words(account: "Reconciliation", *, warm_ups: int) -> str:
    """The account as a sum; `warm_ups`: number of its tasks that the lab submitted before the work."""
    places = [f"{count} {place.replace('_', ' ')}" for place, count in account.counts.items() if count]
    own = f" ({account.submitted - warm_ups} and the lab's warm-up)" if warm_ups else ""
    balance = "" if account.balanced else " — does not balance"
    return f"{account.submitted} submitted{own} = {' + '.join(places) or '0'}{balance}"


def _promises(claimed: int) -> str:
    return "1 claimed promise" if claimed == 1 else f"{claimed} claimed promises"
