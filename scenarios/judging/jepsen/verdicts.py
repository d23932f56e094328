"""The lab's verdicts on a Jepsen history, for the promises that its operations put to the test.

Stricter than Jepsen in two points (docs/jepsen.md): a value dequeued twice is a violation, and so is a dequeued value whose enqueue had
surely failed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.jepsen.checkers import CHECKERS, Result, dequeued, final_set, in_order, set_full
from scenarios.judging.jepsen.operations import MalformedHistory, Operation, hashable
from scenarios.judging.verdict import Verdict, broken, exit_code_of, held, unknown


@dataclass(frozen=True, slots=True)
class JepsenJudgement:
    """Jepsen's verdict (`result["valid"]`, with its fields) beside the lab's."""

    checker: str
    result: Result
    verdicts: tuple[Verdict, ...]

    @property
    def exit_code(self) -> int:
        """By the lab's verdicts: 0 all held, 1 one broken, 3 unknown."""
        return exit_code_of(verdict.ruling for verdict in self.verdicts)

    def to_json(self) -> dict[str, object]:
        """In builtins: Jepsen's fields, the lab's verdicts, the exit code."""
        verdicts = {
            verdict.guarantee.value: {
                "verdict": verdict.ruling.value,
                "witnesses": list(verdict.witnesses),
                "reason": verdict.reason,
            }
            for verdict in self.verdicts
        }
        return {"checker": self.checker, **self.result, "verdicts": verdicts, "exit_code": self.exit_code}


def checker_for(history: Sequence[Operation]) -> str:
    """The checker that fits the operations of a history.

    Raises:
        MalformedHistory: no checker knows its operations.
    """
    functions = {op.f for op in history}
    if functions & {"enqueue", "dequeue", "drain"}:
        return "total-queue"
    if "generate" in functions:
        return "unique-ids"
    if "add" in functions:
        return "set-full"
    raise MalformedHistory("no operation of a queue, a set or an id generator: state a --model")


def judge_jepsen(history: Sequence[Operation], checker: str | None = None, model: str = "") -> JepsenJudgement:
    """Both verdicts on a history; raises `MalformedHistory` if the outcome of an operation cannot be known."""
    name = checker or checker_for(history)
    result = CHECKERS[name](history, model)
    return JepsenJudgement(name, result, _LAB_CHECKERS[name](history))


def _judge_queue(history: Sequence[Operation]) -> tuple[Verdict, ...]:
    """If values repeat, a dequeued value is matched first with acknowledged, last with failed enqueues."""
    submitted = _outcomes(history, "enqueue")
    taken: Counter[Any] = Counter(map(hashable, dequeued(history)))
    lost = [value for value, outcomes in submitted.items() if taken[value] < outcomes["ok"]]
    twice = [value for value, outcomes in submitted.items() if taken[value] > outcomes.total()]
    phantoms = [value for value in taken if value not in submitted]
    resurrected = [
        value for value, outcomes in submitted.items() if taken[value] and outcomes.total() == outcomes["fail"]
    ]
    if not submitted and not taken:
        return _all_unknown("no work: no value was enqueued or dequeued")
    return (
        _verdict(Guarantee.NO_LOST_TASK, lost, "acknowledged, but never dequeued"),
        _verdict(
            Guarantee.NO_PHANTOM_TASK,
            [*phantoms, *resurrected],
            "dequeued, but never enqueued, or its enqueue surely failed",
        ),
        _verdict(Guarantee.EFFECT_AT_MOST_ONCE, twice, "dequeued more often than enqueued"),
    )


def _judge_set(history: Sequence[Operation]) -> tuple[Verdict, ...]:
    added = _outcomes(history, "add")
    reads = [list(map(hashable, op.value)) for op in history if op.f == "read" and op.kind == "ok" and op.value]
    seen = {value for read in reads for value in read}
    phantoms = [value for value in seen if value not in added or added[value].total() == added[value]["fail"]]
    twice = {value for read in reads for value, count in Counter(read).items() if count > 1}
    lost = set_full(history)
    if lost["valid"] == "unknown":
        reason = "no element was seen to stay: no read, or only reads during its addition"
        kept = unknown(Guarantee.NO_LOST_TASK, reason)
    else:
        kept = _verdict(Guarantee.NO_LOST_TASK, lost["lost"], "known to be present, and later missing")
    return (
        kept,
        _verdict(Guarantee.NO_PHANTOM_TASK, phantoms, "read, but never added, or its addition surely failed"),
        _verdict(Guarantee.EFFECT_AT_MOST_ONCE, twice, "twice in one read"),
    )


def _judge_final_set(history: Sequence[Operation]) -> tuple[Verdict, ...]:
    final = final_set(history)
    _, *others = _judge_set(history)
    if final["valid"] == "unknown":
        return _all_unknown(final["error"])
    return (_verdict(Guarantee.NO_LOST_TASK, final["lost"], "acknowledged, but not in the last read"), *others)


def _judge_ids(history: Sequence[Operation]) -> tuple[Verdict, ...]:
    generated: Counter[Any] = Counter(hashable(op.value) for op in history if op.f == "generate" and op.kind == "ok")
    if not generated:
        return (unknown(Guarantee.IDEMPOTENT_SUBMISSION, "no work: no id was generated"),)
    twice = [value for value, count in generated.items() if count > 1]
    return (_verdict(Guarantee.IDEMPOTENT_SUBMISSION, twice, "generated more than once"),)


_LAB_CHECKERS: Mapping[str, Callable[[Sequence[Operation]], tuple[Verdict, ...]]] = {
    "total-queue": _judge_queue,
    "queue": _judge_queue,
    "set": _judge_final_set,
    "set-full": _judge_set,
    "unique-ids": _judge_ids,
}


def _outcomes(history: Sequence[Operation], f: str) -> dict[Any, Counter[str]]:
    """For each value the ends of its invocations: ok, fail, or `open` (info, or no end)."""
    outcomes: dict[Any, Counter[str]] = defaultdict(Counter)
    for op in history:
        if op.f != f:
            continue
        counts = outcomes[hashable(op.value)]
        if op.kind == "invoke":
            counts["open"] += 1
        elif op.kind in ("ok", "fail"):
            counts[op.kind] += 1
            counts["open"] -= 1
    return {value: +counts for value, counts in outcomes.items()}


def _verdict(guarantee: Guarantee, witnesses: Sequence[Any] | set[Any], what: str) -> Verdict:
    if not witnesses:
        return held(guarantee, exercised=True)
    names = [str(value) for value in in_order(witnesses)]
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return broken(guarantee, f"{names[0]}: {what}{more}", witnesses=names)


def _all_unknown(reason: str) -> tuple[Verdict, ...]:
    promises = (Guarantee.NO_LOST_TASK, Guarantee.NO_PHANTOM_TASK, Guarantee.EFFECT_AT_MOST_ONCE)
    return tuple(unknown(guarantee, reason) for guarantee in promises)
