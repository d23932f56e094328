"""The account of a run as a balance: submitted tasks on one side, the places in which they ended on the other."""

from dataclasses import dataclass
from typing import Literal

from scenarios.judging.judgement_record import AccountRecord

IDS_MAX = 200

_TERMS: tuple[tuple[str, str, Literal["good", "neutral", "bad"]], ...] = (
    ("done", "done", "good"),
    ("dead", "dead", "neutral"),
    ("cancelled", "cancelled", "neutral"),
    ("expired", "expired", "neutral"),
    ("pending", "still pending", "neutral"),
    ("waiting", "waiting rightly", "neutral"),
    ("never_accepted", "never accepted", "neutral"),
    ("lost", "lost", "bad"),
    ("stuck", "stuck", "bad"),
)


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the sum. `n` is None if the system cannot list such tasks; `from_share` and `share` place it on a bar of length 1."""

    label: str
    n: int | None
    tone: Literal["good", "neutral", "bad"]
    from_share: float
    share: float


@dataclass(frozen=True, slots=True)
class Balance:
    """`agrees`: submitted equals the sum of the terms, both here and in verdicts.json."""

    submitted: int
    terms: tuple[Term, ...]
    total: int
    agrees: bool


def balance_of(account: AccountRecord) -> Balance:
    """The account, added up again, so that the report shows a wrong sum in verdicts.json."""
    counts = [(label, _amount(account, name), tone) for name, label, tone in _TERMS if _is_counted(account, name)]
    total = sum(n or 0 for _, n, _ in counts)
    submitted = account.submitted if account.submitted is not None else total
    length = max(total, submitted, 1)
    terms: list[Term] = []
    reached = 0
    for label, n, tone in counts:
        terms.append(Term(label, n, tone, reached / length, (n or 0) / length))
        reached += n or 0
    return Balance(submitted, tuple(terms), total, agrees=account.balanced and total == submitted)


def _is_counted(account: AccountRecord, name: str) -> bool:
    """Whether verdicts.json has this place: earlier versions of the lab did not count tasks that wait rightly."""
    return name != "waiting" or account.waiting is not None


def _amount(account: AccountRecord, name: str) -> int | None:
    value: int | tuple[str, ...] | None = getattr(account, name)
    if isinstance(value, tuple):
        return len(set(value) - set(account.strangers))  # the sum does not include tasks that no client submitted
    return value
