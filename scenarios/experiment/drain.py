"""The calm after the storm: wait until every task has ended, or nothing moves any more, or the budget is over."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scenarios.contract.system import Account
from scenarios.experiment.outside import OutsideServer

LOOK_S = 0.1
READ_SHARE_MAX = 0.2
"""The account of many tasks takes a while to read: the lab must not slow down what it waits for."""
SETTLED_S = 0.3
"""How long everything has to stay ended: a message that was delivered twice may still start something."""


@dataclass(frozen=True, slots=True)
class Drained:
    """How the drain ended. `caught_up`: by its criterion, not by running out of time."""

    account: Account
    caught_up: bool
    how: str
    took_s: float


def drain(
    read_account: Callable[[], Account],
    outside: OutsideServer,
    outcomes: Mapping[str, str],
    *,
    quiet_s: float,
    budget_s: float,
) -> Drained:
    """Wait for the end of everything that was acknowledged.

    The criterion: every acknowledged task has ended; or nothing has moved for `quiet_s`, longer than the system ever rests
    while it has something to do, so that what is left is stuck. Running out of `budget_s` while things still move is neither.
    """
    began_s = moved_s = time.monotonic()
    last: Account | None = None
    ended_since_s: float | None = None
    while True:
        asked_s = time.monotonic()
        account = read_account()
        now_s = time.monotonic()
        took_s = now_s - began_s
        if account != last or outside.quiet_s() < LOOK_S:
            last, moved_s = account, now_s
        if all_ended(account, outcomes):
            ended_since_s = ended_since_s or now_s
            if now_s - ended_since_s >= SETTLED_S:
                return Drained(account, True, "every acknowledged task has ended", took_s)
        else:
            ended_since_s = None
        if now_s - moved_s >= quiet_s:
            return Drained(account, True, f"nothing has moved for {quiet_s:g} s", took_s)
        if took_s >= budget_s + quiet_s:
            return Drained(account, False, f"still moving after {took_s:.0f} s", took_s)
        # The next look: there is nothing to be woken by.
        time.sleep(max(LOOK_S, (now_s - asked_s) * (1 / READ_SHARE_MAX - 1)))


def all_ended(account: Account, outcomes: Mapping[str, str]) -> bool:
    """Whether every acknowledged task is in a final list, and none, acknowledged or not, is pending."""
    if account.pending:
        return False
    ended: set[str] = set()
    for names in (account.done, account.dead, account.cancelled, account.expired):
        ended.update(names or ())
    return all(task in ended for task, outcome in outcomes.items() if outcome == "ok")
