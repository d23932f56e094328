"""Every repeated attempt has a cause in the history; a task with a repeat without cause is a witness (rules 6, 23 and 27).

Attempt n + 1 is explained if attempt n failed; if its actor crashed before attempt n ended, or before its ack is known to have arrived
(docs/adr/0003); if its ack is `info`, or is not `ok` and a fault on broker, network or database overlapped the time from its start to
`policy.ack_s` after its end; if its lease (on the task, its order key or its scope) expired before attempt n + 1 and before its ack
arrived, or attempt n + 1 started late under an expired lease of its own; if its worker was paused; or if a `redrive` came between.
A worker that ended as the lab told it to counts as crashed for what it had not finished; one of whose children one was killed, with
all that it had in hand.
"""

from collections import Counter

from scenarios.judging.causes import Cause, repeats_of
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks that were started again without a cause."""
    counts: Counter[str] = Counter()
    violations = []
    for task, repeats in repeats_of(history, policy).items():
        for repeat in repeats:
            counts[repeat.cause.value] += 1
            if repeat.cause is Cause.UNEXPLAINED:
                later_s = (repeat.latter.started_ns - repeat.former.started_ns) / 1e9
                what = f"started again by {repeat.latter.actor} {later_s:.3g} s later without a cause"
                violations.append(Violation(task, Proof.RECORD, what))
    return Findings(tuple(violations), exercised=counts.total(), figures={"repeats": counts.total(), **counts})
