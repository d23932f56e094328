"""The drain: after the storm, wait until every task has ended, or no task moves any more, or the budget is used up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scenarios.contract.system import Account
from scenarios.experiment.outside import Outside
from scenarios.experiment.stage import Stage

LOOK_S = 0.1
READ_SHARE_MAX = 0.2
"""Maximum share of time spent on reading accounts, so that the lab does not slow down the system that it waits for."""
SETTLED_S = 0.3
"""How long all tasks must stay ended: a redelivered message may still start an attempt."""


@dataclass(frozen=True, slots=True)
class Drained:
    """How the drain ended. `caught_up`: its criterion was met before the time ran out. `asked_ns`: when the account was asked for."""

    account: Account
    caught_up: bool
    how: str
    took_s: float
    asked_ns: int = 0


def drain(
    stage: Stage,
    read_account: Callable[[], Account],
    outside: Outside,
    awaited: Callable[[Account], Mapping[str, str]],
    *,
    quiet_s: float,
    budget_s: float,
) -> Drained:
    """Wait for the end of every acknowledged task; `awaited`: the outcomes of submissions, and of what a system makes itself.

    The criterion: every acknowledged task has ended; or nothing has moved for `quiet_s`, longer than the system ever rests
    while it has work, so the remaining tasks are stuck. If tasks still move when `budget_s` is used up, it is not met.
    """
    began_ns = moved_ns = stage.now_ns()
    last: Account | None = None
    ended_since_ns: int | None = None
    while True:
        asked_ns = stage.now_ns()
        account = read_account()
        now_ns = stage.now_ns()
        took_s = _seconds(began_ns, now_ns)
        if account != last or outside.quiet_s() < LOOK_S:
            last, moved_ns = account, now_ns
        if all_ended(account, awaited(account)):
            ended_since_ns = now_ns if ended_since_ns is None else ended_since_ns
            if _seconds(ended_since_ns, now_ns) >= SETTLED_S:
                return Drained(account, True, "every acknowledged task has ended", took_s, asked_ns)
        else:
            ended_since_ns = None
        if _seconds(moved_ns, now_ns) >= quiet_s:
            return Drained(account, True, f"nothing has moved for {quiet_s:g} s", took_s, asked_ns)
        if took_s >= budget_s + quiet_s:
            return Drained(account, False, f"still moving after {took_s:.0f} s", took_s, asked_ns)
        stage.sleep(max(LOOK_S, _seconds(asked_ns, now_ns) * (1 / READ_SHARE_MAX - 1)))


def all_ended(account: Account, outcomes: Mapping[str, str]) -> bool:
    """Whether every acknowledged task is in a final list, and none, acknowledged or not, is pending."""
    if account.pending:
        return False
    ended = ended_in(account)
    return all(task in ended for task, outcome in outcomes.items() if outcome == "ok")


def ended_in(account: Account) -> set[str]:
    """The tasks that are in a final list."""
    return {task for names in (account.done, account.dead, account.cancelled, account.expired) for task in names or ()}


def listed_in(account: Account) -> set[str]:
    """The tasks that are in any list."""
    return ended_in(account) | set(account.pending or ())


def _seconds(since_ns: int, until_ns: int) -> float:
    return (until_ns - since_ns) / 1e9
