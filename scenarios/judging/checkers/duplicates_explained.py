"""Every repeated attempt needs a cause in the history; a task with a repeat that has none is a witness (rule 6).

AttemptRecord n + 1 is explained when attempt n failed, its actor crashed before attempt n ended or, after that, before its ack is known to
have arrived (docs/adr/0003), its ack is `info` or never came to `ok` while a fault on broker, network or database overlapped the time from
its start to the next start, its lease ran out before (or that under which n + 1 started late), or a `redrive` came between.
"""

from collections import Counter

from scenarios.judging.causes import Cause, cause_of, repeats
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import History


def check(history: History, policy: Policy) -> Findings:
    """Tasks that were started again for no reason."""
    counts: Counter[str] = Counter()
    violations = []
    for former, latter in repeats(history):
        cause = cause_of(history, former, latter)
        counts[cause.value] += 1
        if cause is Cause.UNEXPLAINED:
            what = (
                f"started again by {latter.actor} {_seconds(latter.started_ns - former.started_ns)} later for no reason"
            )
            violations.append(Violation(former.task, Proof.RECORD, what))
    return Findings(tuple(violations), exercised=counts.total(), figures={"repeats": counts.total(), **counts})


def _seconds(duration_ns: int) -> str:
    return f"{duration_ns / 1e9:.3g} s"
