"""The account, added up again for the report."""

from reports.account import Balance, Term, balance_of
from scenarios.judging.judgement_record import AccountRecord


def test_every_submission_ends_in_exactly_one_term() -> None:
    account = AccountRecord(
        submitted=10, done=4, dead=1, cancelled=1, expired=0, pending=0, never_accepted=1, lost=("a",),
        stuck=("b", "c"), balanced=True,
    )  # fmt: skip

    assert balance_of(account) == Balance(
        submitted=10,
        terms=(
            Term("done", 4, "good", 0.0, 0.4),
            Term("dead", 1, "neutral", 0.4, 0.1),
            Term("cancelled", 1, "neutral", 0.5, 0.1),
            Term("expired", 0, "neutral", 0.6, 0.0),
            Term("still pending", 0, "neutral", 0.6, 0.0),
            Term("never accepted", 1, "neutral", 0.6, 0.1),
            Term("lost", 1, "bad", 0.7, 0.1),
            Term("stuck", 2, "bad", 0.8, 0.2),
        ),
        total=10,
        agrees=True,
    )


def test_a_sum_that_the_judge_calls_balanced_but_is_not_does_not_agree() -> None:
    balance = balance_of(AccountRecord(submitted=10, done=9, balanced=True))

    assert (balance.submitted, balance.total, balance.agrees) == (10, 9, False)


def test_a_sum_that_the_judge_calls_unbalanced_does_not_agree_even_if_the_counts_do() -> None:
    assert not balance_of(AccountRecord(submitted=9, done=9, balanced=False)).agrees


def test_a_stuck_task_that_nobody_submitted_is_no_part_of_the_sum() -> None:
    balance = balance_of(AccountRecord(submitted=2, done=1, stuck=("a", "ghost"), strangers=("ghost",), balanced=True))

    assert (balance.total, balance.agrees) == (2, True)


def test_a_count_that_the_system_cannot_give_stays_unknown() -> None:
    balance = balance_of(AccountRecord(submitted=2, done=2, dead=None, balanced=True))

    assert balance.terms[1] == Term("dead", None, "neutral", 1.0, 0.0)
