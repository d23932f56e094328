"""The corners that the rules leave open, each decided in docs/history.md."""

# ruff: noqa: E501, N817 -- a case is a line, and reads as one

from collections.abc import Iterable

import pytest

from scenarios.judging.checkers import CHECKERS
from scenarios.judging.guarantees import Guarantee as G
from scenarios.judging.judge import judge
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Ruling
from scenarios.record.history import Event, History, Recorded

SECONDS = ("t_s", "due_s", "deadline_s", "ttl_s", "asked_s")
NUMBERS = ("attempt", "fence", "attempts")


def event(line: str) -> Event:
    """`1.5 w1 attempt.start A attempt=1`: time, actor, event, task (or -), fields."""
    at_s, actor, name, task, *fields = line.split()
    values: dict[str, object] = dict(field.split("=") for field in fields)
    for field in values.keys() & {*NUMBERS}:
        values[field] = int(str(values[field]))
    for field in values.keys() & {*SECONDS, "percent"}:
        values[field] = float(str(values[field]))
    if "asked_s" in values:
        values["asked_ns"] = round(float(str(values.pop("asked_s"))) * 1e9)
    if "from" in values:
        values["from_"] = values.pop("from")
    return Event(event=name, actor=actor, t_ns=round(float(at_s) * 1e9), task=None if task == "-" else task, **values)  # type: ignore[arg-type]


def final(at_s: float = 100, *, healed: bool = True, caught_up: bool = True, **lists: Iterable[str] | None) -> Event:
    """The account; lists that are not given are empty, those given as None the system cannot say."""
    names = ("done", "dead", "cancelled", "expired", "pending")
    tasks = {name: lists.get(name, ()) for name in names}
    as_tuples = {name: None if listed is None else tuple(listed) for name, listed in tasks.items()}
    return Event(event="final", actor="lab", t_ns=round(at_s * 1e9), healed=healed, caught_up=caught_up, **as_tuples)


SUBMITTED = ("0 client submit.invoke A", "0.01 client submit.ok A")
RAN = (*SUBMITTED, "1 w1 attempt.start A attempt=1", "1.05 w1 effect A attempt=1", "1.1 w1 attempt.ok A attempt=1")
ACKED = (*RAN, "1.11 w1 ack.invoke A attempt=1", "1.12 w1 ack.ok A attempt=1")
AGAIN = ("5 w2 attempt.start A attempt=2", "5.1 w2 attempt.ok A attempt=2")
NO_LISTS = dict.fromkeys(("done", "dead", "cancelled", "expired", "pending"))


NOTHING_STATED = Policy()


def verdict(
    guarantee: G, *lines: str | Event, policy: Policy = NOTHING_STATED, problems: Iterable[str] = ()
) -> str | tuple[str, ...]:
    """`held`, `unknown`, or the witnesses of the break."""
    history = History(line if isinstance(line, Event) else event(line) for line in lines)
    (one,) = judge(Recorded(history), claims=[guarantee], policy=policy, problems=tuple(problems)).verdicts
    return one.witnesses if one.ruling is Ruling.BROKEN else one.ruling.value


DONE = final(done=["A"])


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param(("A",), [*ACKED, *AGAIN, DONE], id="acked and repeated"),
        pytest.param("held", [*ACKED[:-1], "1.2 w1 crash -", *AGAIN, DONE], id="killed before the ack arrived"),
        pytest.param("held", [*RAN, "1.2 w1 crash -", *AGAIN, DONE], id="killed before the ack was sent"),
        pytest.param(("A",), [*ACKED, "1.2 w1 crash -", *AGAIN, DONE], id="killed after the ack arrived"),
        pytest.param(("A",), [*RAN, "1.2 w3 crash -", *AGAIN, DONE], id="another was killed"),
        pytest.param(("A",), [*RAN, *AGAIN, "6 w1 crash -", DONE], id="killed after the repeat"),
        pytest.param(("A",), ["0.5 w1 crash -", *RAN, *AGAIN, DONE], id="killed before the attempt"),
        pytest.param("held", [*RAN, "9 broker ack.info A", *AGAIN[:0], DONE], id="no repeat"),
        pytest.param("held", [*RAN, "1.2 broker ack.info A", *AGAIN, DONE], id="lost ack seen by the broker, without a number"),
        pytest.param("held", [*RAN, "2 lab fault.begin - fault=kill target=broker", "2 lab fault.bit - fault=kill target=broker",
                              "3 lab fault.healed - fault=kill target=broker", *AGAIN, DONE], id="broker fault between"),
        pytest.param("held", [*RAN, "2 lab fault.begin - fault=kill target=rabbitmq", "2 lab fault.bit - fault=kill target=rabbitmq",
                              *AGAIN, DONE], id="open fault"),
        pytest.param("held", [*RAN, "2 lab fault.begin - fault=network_degraded target=relay-to-rabbitmq", "2 lab fault.bit - fault=network_degraded "
                              "target=relay-to-rabbitmq", *AGAIN, DONE], id="a fault on another's link"),
        pytest.param(("A",), [*ACKED, "2 lab fault.begin - fault=kill target=broker", "2 lab fault.bit - fault=kill target=broker",
                              "3 lab fault.healed - fault=kill target=broker", *AGAIN, DONE], id="broker fault, but the ack had arrived"),
        pytest.param(("A",), [*RAN, "2 lab fault.begin - fault=pause target=w1", "2 lab fault.bit - fault=pause target=w1",
                              "3 lab fault.healed - fault=pause target=w1", *AGAIN, DONE], id="a fault of a worker"),
        pytest.param(("A",), ["0.1 lab fault.begin - fault=kill target=broker", "0.1 lab fault.bit - fault=kill target=broker",
                              "0.5 lab fault.healed - fault=kill target=broker", *RAN, *AGAIN, DONE], id="a fault that was over"),
        pytest.param("held", [*RAN, "3 person redrive A", *AGAIN, DONE], id="redriven"),
        pytest.param("held", [*SUBMITTED, "0.9 w1 lease.acquired - resource=A fence=1 ttl_s=3", "1 w1 attempt.start A attempt=1",
                              *AGAIN, DONE], id="lease ran out"),
        pytest.param("held", [*SUBMITTED, "2 w1 lease.acquired - resource=A fence=1 ttl_s=3", "2 w1 attempt.start A attempt=1",
                              *AGAIN, DONE], id="lease ran out in that instant"),
        pytest.param(("A",), [*SUBMITTED, "0.9 w1 lease.acquired - resource=A fence=1 ttl_s=3", "1 w1 attempt.start A attempt=1",
                              "2 w1 lease.released - resource=A", *AGAIN, DONE], id="lease released"),
        pytest.param("held", [*SUBMITTED, "0.9 w1 lease.acquired - resource=A fence=1 ttl_s=3", "1 w1 attempt.start A attempt=1",
                              "4.5 w1 attempt.ok A attempt=1", "4.6 w1 lease.acquired - resource=A fence=2 ttl_s=3",
                              "5 w1 attempt.start A attempt=2", DONE], id="lease ran out, and its holder got the next one"),
        pytest.param("held", [*SUBMITTED, "0.9 w1 lease.acquired - resource=A fence=1 ttl_s=3", "1 w1 attempt.start A attempt=1",
                              "2 w1 lease.released - resource=A", "4.5 d state A to=RETRYING from=RUNNING", *AGAIN, DONE],
                     id="lease released, but its row stayed held until it had run out"),
        pytest.param(("A",), [*SUBMITTED, "0.9 w1 lease.acquired - resource=A fence=1 ttl_s=3", "1 w1 attempt.start A attempt=1",
                              "2 w1 lease.released - resource=A", "2.5 d state A to=SUCCEEDED from=RUNNING", *AGAIN, DONE],
                     id="lease released, and so said its row"),
        pytest.param(("A",), [*SUBMITTED, "0.9 w1 lease.acquired - resource=A fence=1 ttl_s=3", "1 w1 attempt.start A attempt=1",
                              "3 w1 lease.renewed - resource=A fence=1 ttl_s=3", *AGAIN, DONE], id="lease renewed"),
        pytest.param(("A",), [*SUBMITTED, "0.9 w9 lease.acquired - resource=A fence=1 ttl_s=3", "1 w1 attempt.start A attempt=1",
                              *AGAIN, DONE], id="another's lease"),
        pytest.param("held", [*SUBMITTED, "0.5 w2 lease.acquired - resource=A fence=1 ttl_s=2", "3 w1 attempt.start A attempt=2",
                              "3.1 w1 attempt.ok A attempt=2", "5 w2 attempt.start A attempt=1", DONE], id="late start of a zombie"),
        pytest.param(("A",), [*SUBMITTED, "1 w1 attempt.start A attempt=1", *AGAIN, "6 w1 attempt.fail A attempt=1 error=transient",
                              DONE], id="failed only after the repeat"),
        pytest.param("held", [*SUBMITTED, "1 w1 attempt.start A", "2 w1 attempt.fail A error=unknown", "3 w1 attempt.start A", DONE],
                     id="numbers are null"),
    ],
)  # fmt: skip
def test_what_explains_a_repeat(expected: object, lines: list[str | Event]) -> None:
    assert verdict(G.DUPLICATES_EXPLAINED, *lines) == expected


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param(("A",), [*SUBMITTED, final(**NO_LISTS)], id="nothing known, nothing listed"),
        pytest.param("held", [*SUBMITTED, "2 database dead A attempts=1 reason=permanent", final(**NO_LISTS)], id="a dead letter for a list"),
        pytest.param(("A",), [*SUBMITTED, "2 database dead A attempts=1 reason=permanent", final(done=(), dead=())],
                     id="a dead letter that the list does not have"),
        pytest.param("held", [*SUBMITTED, "1 client cancel.ok A", final(cancelled=None)], id="a cancellation for a list"),
        pytest.param("held", [*SUBMITTED, final(pending=["A"])], id="pending is not lost"),
        pytest.param("held", ["0 client submit.invoke A", "0 client submit.info A", *RAN, final()], id="unknown, then ok, done"),
        pytest.param("unknown", ["0 client submit.invoke A", "0 client submit.fail A", final()], id="refused only: no work"),
        pytest.param("held", ["0 client submit.invoke A", final()], id="never answered may be absent"),
        pytest.param("unknown", [*SUBMITTED, final(caught_up=False)], id="not drained"),
        pytest.param("unknown", [*SUBMITTED, final(healed=False)], id="not healed"),
        pytest.param("unknown", SUBMITTED, id="no account"),
        pytest.param("unknown", [*RAN, final(done=["A"], pending=["A"])], id="in two lists"),
        pytest.param("held", ["0 client submit.invoke A key=k", "0 client submit.ok A id=1", "1 client submit.invoke B key=k",
                              "1 client submit.ok B id=1", "2 w attempt.start A", "3 w attempt.ok A", final(done=["A"])],
                     id="a resubmission is the first task"),
        pytest.param(("B",), ["0 client submit.invoke A key=k", "0 client submit.ok A id=1", "1 client submit.invoke B key=k",
                              "1 client submit.ok B id=2", "2 w attempt.start A", "3 w attempt.ok A", final(done=["A"])],
                     id="another id is another task"),
        pytest.param("held", [*SUBMITTED, "1 w effect A", final()], id="done by its effect where no attempt ends"),
        pytest.param(("A",), [*SUBMITTED, "1 w effect A", "2 w attempt.fail B error=unknown", final()],
                     id="not by its effect where attempts end"),
    ],
)  # fmt: skip
def test_what_is_lost(expected: object, lines: list[str | Event]) -> None:
    assert verdict(G.NO_LOST_TASK, *lines) == expected


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param(("A",), ["0 client submit.invoke A", "0 client submit.info A", final(pending=["A"])], id="unacknowledged"),
        pytest.param(("Z",), [*RAN, final(done=["A"], pending=["Z"])], id="never submitted"),
        pytest.param("unknown", [*SUBMITTED, final(pending=None)], id="unaccounted, and nobody can list what is pending"),
        pytest.param("held", [*RAN, final(pending=None)], id="all accounted for"),
    ],
)  # fmt: skip
def test_what_is_stuck(expected: object, lines: list[str | Event]) -> None:
    assert verdict(G.NO_STUCK_TASK, *lines) == expected


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param("held", ["0 client submit.invoke A", "0 client submit.fail A", "1 client submit.invoke A", *RAN[2:], DONE], id="one still open"),
        pytest.param("held", ["0 client submit.invoke A", "0 client submit.fail A", "1 client submit.invoke A", "1 client submit.info A",
                              *RAN[2:], DONE], id="one unknown"),
        pytest.param(("A",), ["0 client submit.invoke A", "0 client submit.fail A", "1 client submit.invoke A", "1 client submit.fail A",
                              *RAN[2:], DONE], id="all failed"),
        pytest.param(("Z",), ["1 w effect Z", final(caught_up=False)], id="proven although nothing was submitted or drained"),
        pytest.param(("Z",), [*RAN, "3 w attempt.start Z"], id="proven without an account"),
    ],
)  # fmt: skip
def test_what_is_a_phantom(expected: object, lines: list[str | Event]) -> None:
    assert verdict(G.NO_PHANTOM_TASK, *lines) == expected


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param(("r",), ["0 a lease.acquired - resource=r ttl_s=5", "4.999 b lease.acquired - resource=r ttl_s=5"], id="before it ran out"),
        pytest.param("held", ["0 a lease.acquired - resource=r ttl_s=5", "5 b lease.acquired - resource=r ttl_s=5"], id="when it ran out"),
        pytest.param("held", ["0 a lease.acquired - resource=r ttl_s=5", "3 a lease.acquired - resource=r ttl_s=5"], id="by the same actor"),
        pytest.param("held", ["0 a lease.acquired - resource=r ttl_s=5 fence=1", "3 a lease.acquired - resource=r ttl_s=5 fence=2"],
                     id="by the same actor under another fence"),
        pytest.param(("r",), ["0 a lease.acquired - resource=r ttl_s=5", "4 a lease.renewed - resource=r ttl_s=5",
                              "6 b lease.acquired - resource=r ttl_s=5"], id="renewed"),
        pytest.param("held", ["0 a lease.acquired - resource=r ttl_s=5", "1 a lease.renewed - resource=r ttl_s=5", "2 a lease.released - resource=r",
                              "3 b lease.acquired - resource=r ttl_s=5"], id="renewed, released, and then another's"),
        pytest.param("held", ["0 b lease.acquired - resource=r ttl_s=5", "0 a lease.acquired - resource=s ttl_s=5"], id="of another resource"),
        pytest.param("held", ["0 a lease.acquired - resource=r ttl_s=5", "2 b lease.acquired - resource=r ttl_s=5",
                              "2 a lease.released - resource=r"], id="released in that instant"),
        pytest.param(("r",), ["0 a lease.acquired - resource=r ttl_s=5", "0 b lease.acquired - resource=r ttl_s=5"], id="both at once"),
        pytest.param("held", ["1 a lease.acquired - resource=r ttl_s=5 asked_s=0", "5.5 b lease.acquired - resource=r ttl_s=5"],
                     id="run out when counted from the question"),
        pytest.param(("r",), ["0 a lease.acquired - resource=r ttl_s=5", "1 c lease.released - resource=r",
                              "2 b lease.acquired - resource=r ttl_s=5"], id="released by somebody else"),
        pytest.param("unknown", ["0 client submit.invoke A"], id="no lease and no account"),
        pytest.param("unknown", ["0 a lease.acquired - resource=r ttl_s=5", final(healed=False)], id="not healed"),
    ],
)  # fmt: skip
def test_who_holds_a_lease(expected: object, lines: list[str | Event]) -> None:
    assert verdict(G.SINGLE_HOLDER, *lines) == expected


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param("held", ["0 a write - resource=r fence=2", "0 b write - resource=r fence=1"], id="at one instant by two"),
        pytest.param(("r",), ["0 a write - resource=r fence=2", "0 a write - resource=r fence=1"], id="at one instant by one"),
        pytest.param(("r",), ["0 a write - resource=r fence=2", "1 b write - resource=r fence=2", "1 c write - resource=r fence=1"],
                     id="an older one of the same fence proves it"),
        pytest.param(("r",), ["0 a write - resource=r fence=3", "0 b write - resource=r fence=1", "1 c write - resource=r fence=2"],
                     id="older than the newest of two at one instant"),
        pytest.param("held", ["0 a write - resource=r fence=2", "1 b write - resource=r"], id="without a fence"),
        pytest.param("held", ["0 a write - resource=r fence=2", "1 b write - resource=s fence=1"], id="another resource"),
        pytest.param(("A",), [*SUBMITTED, "1 a effect A fence=2", "2 b effect A fence=1 step=2", final(done=["A"])], id="effects of a task"),
    ],
)  # fmt: skip
def test_which_writes_are_stale(expected: object, lines: list[str | Event]) -> None:
    assert verdict(G.FENCED_WRITES, *lines) == expected


def allowed(*instants_s: float, user: str = "u", limit: str = "l") -> list[str]:
    return [f"{instant_s} api allowed - limit={limit} user={user}" for instant_s in instants_s]


@pytest.mark.parametrize(
    ("expected", "kind", "lines"),
    [
        pytest.param("held", "sliding", allowed(0, 0.5, 0.9, 1.0), id="sliding, exactly a window apart"),
        pytest.param(("u",), "sliding", allowed(0, 0.5, 0.9, 0.999), id="sliding, a little less"),
        pytest.param("held", "sliding", [*allowed(0, 0, 0), *allowed(0, user="v")], id="another user"),
        pytest.param("held", "sliding", [*allowed(0, 0, 0), *allowed(0, limit="m")], id="another limit"),
        pytest.param("held", "fixed", allowed(0.9, 0.95, 0.99, 1.0, 1.1, 1.2), id="fixed, around an edge"),
        pytest.param(("u",), "fixed", allowed(1.0, 1.1, 1.2, 1.999), id="fixed, within one"),
        pytest.param("held", "bucket", allowed(0, 0, 0, 0, 0, 1 / 3 + 1e-9), id="bucket, refilled"),
        pytest.param(("u",), "bucket", allowed(0, 0, 0, 0, 0, 0.33), id="bucket, not yet refilled"),
        pytest.param(("u",), "bucket", allowed(0, 100, 100, 100, 100, 100, 100), id="bucket, never over its burst"),
    ],
)
def test_what_a_window_allows(expected: object, kind: str, lines: list[str]) -> None:
    policy = Policy(
        window={"kind": kind, "n": 3, "per_s": 1, "burst": 5}
        if kind == "bucket"
        else {"kind": kind, "n": 3, "per_s": 1}
    )

    assert verdict(G.RATE_LIMIT_RESPECTED, *lines, policy=policy) == expected


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param("held", [*SUBMITTED, "1 w attempt.start A attempt=1", "2 w attempt.fail A attempt=1 error=permanent", final(dead=["A"])],
                     id="listed as failed"),
        pytest.param("held", [*SUBMITTED, "1 w attempt.start A attempt=1", "2 w attempt.fail A attempt=1 error=permanent",
                              final(cancelled=["A"])], id="cancelled meanwhile"),
        pytest.param(("A",), [*SUBMITTED, "1 w attempt.start A attempt=1", "2 w attempt.fail A attempt=1 error=permanent",
                              "3 w attempt.start A attempt=2", "4 w attempt.ok A attempt=2", DONE], id="tried again instead"),
        pytest.param("held", [*SUBMITTED, "1 w attempt.start A attempt=1", "3 v attempt.start A attempt=2", "4 v attempt.ok A attempt=2",
                              "5 w attempt.fail A attempt=1 error=permanent", DONE], id="a zombie's failure"),
        pytest.param("held", [*SUBMITTED, "1 w attempt.start A attempt=1", "2 w crash -", "3 d state A to=RUNNING from=ACCEPTED",
                              "4 d state A to=RETRYING from=RUNNING", "5 d state A to=RUNNING from=RETRYING",
                              "6 d dead A attempts=2 reason=exhausted", final(dead=["A"])], id="a claim without a start is an attempt"),
        pytest.param("held", [*SUBMITTED, "6 d dead A attempts=2 reason=exhausted", final(dead=["A"])], id="only the dead letter tells"),
        pytest.param(("A",), [*SUBMITTED, "6 d dead A attempts=1 reason=exhausted", final(dead=["A"])], id="only the dead letter tells: early"),
        pytest.param(("A",), [*RAN, "6 d dead A attempts=2 reason=poison", final(dead=["A"])], id="dead, and had succeeded"),
        pytest.param("held", [*SUBMITTED, "1 w attempt.start A attempt=1", "3 v attempt.start A attempt=2", "4 w attempt.ok A attempt=1",
                              "5 v crash -", "6 d dead A attempts=2 reason=poison", final(dead=["A"])], id="dead, and a zombie had succeeded"),
        pytest.param("held", [*SUBMITTED, "1 w attempt.start A attempt=1", "2 w attempt.ok A attempt=1",
                              "2 lab fault.begin - fault=pause target=w", "2 lab fault.bit - fault=pause target=w",
                              "3 v attempt.start A attempt=2", "4 v crash -", "5 lab fault.healed - fault=pause target=w",
                              "6 d dead A attempts=2 reason=poison", final(dead=["A"])], id="dead, and a success could not be reported"),
        pytest.param("held", [*SUBMITTED, "1 w attempt.start A attempt=1", "1.1 w effect A attempt=1", "2 w crash -",
                              "3 v attempt.start A attempt=2", "4 v crash -", "6 d dead A attempts=2 reason=poison", final(dead=["A"])],
                     id="dead, with an effect of an attempt that was killed"),
        pytest.param("held", [*SUBMITTED, "0.9 w lease.acquired - resource=A fence=1 ttl_s=1", "1 w attempt.start A attempt=1",
                              "2 w attempt.fail A attempt=1 error=permanent", "3 v attempt.start A attempt=2", "4 v attempt.ok A attempt=2",
                              DONE], id="reported when its lease had run out"),
        pytest.param("held", [*SUBMITTED, "1 w attempt.start A attempt=1", "2 w attempt.fail A attempt=1 error=permanent", "2.5 w crash -",
                              "3 v attempt.start A attempt=2", "4 v attempt.ok A attempt=2", DONE], id="killed before it could report"),
        pytest.param("held", [*SUBMITTED, "1 w attempt.start A attempt=1", "2 w attempt.fail A attempt=1 error=permanent",
                              "2.5 lab fault.begin - fault=pause target=w", "2.5 lab fault.bit - fault=pause target=w",
                              "3 v attempt.start A attempt=2", "4 v attempt.ok A attempt=2", "5 lab fault.healed - fault=pause target=w",
                              DONE], id="stood still before it could report"),
        pytest.param(("A",), [*RAN, final(done=["A"], dead=["A"])], id="listed as both"),
        pytest.param("held", [*SUBMITTED, "1 d dead A attempts=2 reason=poison", "2 p redrive A", *AGAIN, DONE], id="redriven, then done"),
    ],
)  # fmt: skip
def test_when_a_task_is_dead(expected: object, lines: list[str | Event]) -> None:
    assert verdict(G.DEAD_LETTER_IF_EXHAUSTED, *lines, policy=Policy(attempts_max=2)) == expected


FAILED_ONCE = (*SUBMITTED, "1 w attempt.start A attempt=1", "2 w attempt.fail A attempt=1 error=transient")
SCHEDULE = Policy(attempts_max=3, delays_s=((1, 2), (2, 4)), tolerance_s=0.5, budget_s=10)


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param("held", [*FAILED_ONCE, "2.5 w attempt.start A attempt=2", DONE], id="at the earliest"),
        pytest.param(("A",), [*FAILED_ONCE, "2.499 w attempt.start A attempt=2", DONE], id="earlier"),
        pytest.param("held", [*FAILED_ONCE, "4.5 w attempt.start A attempt=2", DONE], id="at the latest"),
        pytest.param(("A",), [*FAILED_ONCE, "4.501 w attempt.start A attempt=2", DONE], id="later"),
        pytest.param("held", [*FAILED_ONCE, "3 l fault.begin - fault=kill target=w", "3 l fault.bit - fault=kill target=w",
                              "8 l fault.healed - fault=kill target=w", "18 w attempt.start A attempt=2", DONE], id="held up by a fault"),
        pytest.param("held", [*FAILED_ONCE, "9 p redrive A", "9.1 w attempt.start A attempt=2", DONE], id="redriven"),
        pytest.param("held", [*SUBMITTED, "1 w attempt.start A", "2 w attempt.fail A error=unknown", "2 w attempt.start A", DONE],
                     id="not transient"),
        pytest.param(("A",), [*SUBMITTED, "1 w attempt.start A", "2 w attempt.fail A error=transient", "3.5 w attempt.start A",
                              "4 w attempt.fail A error=transient", "5 w attempt.start A", DONE], id="by order where numbers are null"),
    ],
)  # fmt: skip
def test_when_a_retry_is_due(expected: object, lines: list[str | Event]) -> None:
    assert verdict(G.RETRY_SCHEDULE, *lines, policy=SCHEDULE) == expected


@pytest.mark.parametrize(
    ("guarantee", "expected", "lines", "policy"),
    [
        pytest.param(G.CANCEL_HONOURED, "held", [*SUBMITTED, "1 c cancel.ok A", "1 w attempt.start A", DONE], Policy(), id="cancel: at that instant"),
        pytest.param(G.CANCEL_HONOURED, "held", [*SUBMITTED, "1 c cancel.info A", "2 w attempt.start A", DONE], Policy(), id="cancel: not promised"),
        pytest.param(G.DEADLINE_HONOURED, "held", ["0 c submit.invoke A deadline_s=5", "5 w attempt.start A", DONE], Policy(), id="deadline: at it"),
        pytest.param(G.DEADLINE_HONOURED, ("A",), ["0 c submit.invoke A deadline_s=5", "5.001 w attempt.start A", DONE], Policy(), id="deadline: after"),
        pytest.param(G.NOT_BEFORE_DUE, "held", ["0 c submit.invoke A due_s=5", "5 w attempt.start A", DONE], Policy(), id="due: at it"),
        pytest.param(G.PAUSE_HONOURED, "held", [*SUBMITTED, "1 a pause.ok -", "2 w attempt.start A", DONE], Policy(grace_s=1), id="pause: in its grace"),
        pytest.param(G.PAUSE_HONOURED, ("A",), [*SUBMITTED, "1 a pause.ok -", "2.1 w attempt.start A", DONE], Policy(grace_s=1), id="pause: never resumed"),
        pytest.param(G.PAUSE_HONOURED, ("A",), [*SUBMITTED, "1 a pause.ok - scope=mail", "2.1 w attempt.start A", DONE], Policy(), id="pause: no task names a scope"),
        pytest.param(G.PAUSE_HONOURED, "held", ["0 c submit.invoke A scope=web", "1 a pause.ok - scope=mail", "2 w attempt.start A", DONE], Policy(), id="pause: of another scope"),
        pytest.param(G.DUE_IN_TIME, "held", ["0 c submit.invoke A due_s=5", "7 w attempt.start A", DONE], Policy(tolerance_s=2), id="in time: at the latest"),
        pytest.param(G.RECOVERS_IN_TIME, "unknown", [*RAN, "2 l fault.begin - fault=kill target=w", "2 l fault.bit - fault=kill target=w", DONE], Policy(budget_s=1), id="recovery: never healed"),
        pytest.param(G.RECOVERS_IN_TIME, "unknown", [*RAN, "2 l fault.begin - fault=k target=w", "2 l fault.bit - fault=k target=w", "3 l fault.healed - fault=k target=w", DONE], Policy(), id="recovery: no budget"),
        pytest.param(G.RECOVERS_IN_TIME, ("A",), [*SUBMITTED, "2 l fault.begin - fault=k target=w", "2 l fault.bit - fault=k target=w", "3 l fault.healed - fault=k target=w", "4 w attempt.start A", "9 w attempt.ok A", final(done=["A"])], Policy(budget_s=5), id="recovery: too late"),
        pytest.param(G.EFFECT_AT_MOST_ONCE, ("A",), [*SUBMITTED, "1 w effect A", "2 w effect A step=1", DONE], Policy(), id="effects: a step without a number is the first, and 1 is the text 1"),
        pytest.param(G.POISON_BOUNDED, "unknown", [*ACKED, *AGAIN, DONE], Policy(), id="poison: tried twice, no bound stated"),
        pytest.param(G.PROGRESS_MONOTONIC, "held", [*SUBMITTED, "1 w attempt.start A", "2 w progress A percent=60", "3 w crash -", "4 w attempt.start A", "5 w progress A percent=20", DONE], Policy(), id="progress: a new start without a number"),
        pytest.param(G.IDEMPOTENT_SUBMISSION, "held", ["0 c submit.invoke A key=k user=u", "0 c submit.ok A id=1", "1 c submit.invoke B key=k user=v", "1 c submit.ok B id=2", DONE], Policy(), id="idempotence: another user's key"),
        pytest.param(G.STATUS_TRUTHFUL, "held", [*RAN, "2 c status A state=SUCCEEDED", "3 c status A state=RUNNING asked_s=1.5", DONE], Policy(), id="status: asked before the other was answered"),
        pytest.param(G.STATUS_TRUTHFUL, "held", [*SUBMITTED, "1 d dead A attempts=1 reason=permanent", "2 c status A state=DEAD", "3 p redrive A", "4 c status A state=RUNNING", *AGAIN, DONE], Policy(), id="status: redriven"),
        pytest.param(G.STATUS_TRUTHFUL, "held", [*SUBMITTED, "1 d dead A attempts=1 reason=permanent", "3 p redrive A", "4 c status A state=DEAD asked_s=2", "5 c status A state=RUNNING", *AGAIN, DONE], Policy(), id="status: redriven between question and answer"),
        pytest.param(G.STATUS_TRUTHFUL, "held", [*SUBMITTED, "1 d dead A attempts=1 reason=permanent", "3 p redrive A", *AGAIN, "6 c status A state=DEAD asked_s=2", DONE], Policy(), id="status: the last one was asked for before the redrive"),
        pytest.param(G.STATUS_TRUTHFUL, "held", [*SUBMITTED, "1 d dead A attempts=1 reason=permanent", "2 p redrive A", "4 c status A state=DEAD asked_s=3", "5 c status A state=RUNNING", *AGAIN, DONE], Policy(), id="status: asked for before the redrive was committed"),
        pytest.param(G.STATUS_TRUTHFUL, ("A",), [*SUBMITTED, "1 d dead A attempts=1 reason=permanent", "2 p redrive A", "3 d dead A attempts=2 reason=permanent", "4 c status A state=DEAD", "5 c status A state=RUNNING", *AGAIN, DONE], Policy(), id="status: dead again, and not redriven"),
        pytest.param(G.STATUS_TRUTHFUL, ("A",), [*SUBMITTED, "2 p redrive A", "4 c status A state=DEAD asked_s=3", "5 c status A state=RUNNING", *AGAIN, DONE], Policy(), id="status: asked for after the redrive of an unknown death"),
        pytest.param(G.STATUS_TRUTHFUL, ("A",), [*RAN, "2 c status A state=CANCELLED", DONE], Policy(), id="status: not the one of the account"),
        pytest.param(G.STATUS_TRUTHFUL, "held", [*SUBMITTED, "2 c status A state=FAILED", final(dead=["A"])], Policy(), id="status: failed is listed as dead"),
        pytest.param(G.LEGAL_TRANSITIONS, "held", [*SUBMITTED, "0 d state A to=ACCEPTED", "1 d state A from=ACCEPTED to=RUNNING", "2 d state A from=RUNNING to=DEAD", "3 p redrive A", "3 d state A from=DEAD to=ACCEPTED", DONE], Policy(), id="states: redriven at that instant"),
        pytest.param(G.LEGAL_TRANSITIONS, ("A",), [*SUBMITTED, "0 d state A to=ACCEPTED", "1 p redrive A", "1 d state A from=ACCEPTED to=RUNNING", "2 d state A from=RUNNING to=DEAD", "3 d state A from=DEAD to=ACCEPTED", DONE], Policy(), id="states: redriven before it died"),
    ],
)  # fmt: skip
def test_other_corners(guarantee: G, expected: object, lines: list[str | Event], policy: Policy) -> None:
    assert verdict(guarantee, *lines, policy=policy) == expected


FENCED_ONCE = "1 a write - resource=r fence=2"
SLIDING = Policy(window={"kind": "sliding", "n": 3, "per_s": 1})
TRIED_ONCE = (*SUBMITTED, "1 w attempt.start A attempt=1", "2 w attempt.fail A attempt=1 error=transient")


@pytest.mark.parametrize(
    ("guarantee", "expected", "lines", "policy"),
    [
        pytest.param(G.FENCED_WRITES, 0, [FENCED_ONCE], Policy(), id="one fence"),
        pytest.param(G.FENCED_WRITES, 1, [FENCED_ONCE, "2 b write - resource=r fence=3"], Policy(), id="two fences"),
        pytest.param(G.FENCED_WRITES, 1, [FENCED_ONCE, "2 b write.rejected - resource=r fence=1"], Policy(), id="an older one refused"),
        pytest.param(G.FENCED_WRITES, 0, [FENCED_ONCE, "0 b write.rejected - resource=r fence=1"], Policy(), id="refused before the newer one"),
        pytest.param(G.FENCED_WRITES, 0, [FENCED_ONCE, "2 b write.rejected - resource=r fence=2"], Policy(), id="refused for another reason"),
        pytest.param(G.FENCED_WRITES, 1, [*SUBMITTED, "1 a effect A fence=2", "2 b effect.rejected A fence=1"], Policy(), id="an older effect refused"),
        pytest.param(G.RATE_LIMIT_RESPECTED, 0, allowed(0, 0.1, 2, 2.1), SLIDING, id="never at the limit"),
        pytest.param(G.RATE_LIMIT_RESPECTED, 1, allowed(0, 0.1, 0.2), SLIDING, id="at the limit"),
        pytest.param(G.RATE_LIMIT_RESPECTED, 1, [*allowed(0), "1 api denied - limit=l user=u", "2 api denied - limit=l user=u"], SLIDING, id="denied"),
        pytest.param(G.PROGRESS_MONOTONIC, 0, [*RAN, "1 w1 progress A percent=1 attempt=1", *AGAIN, "5 w2 progress A percent=1 attempt=2"], Policy(), id="one report an attempt"),
        pytest.param(G.PROGRESS_MONOTONIC, 1, [*RAN, "1 w1 progress A percent=1", "1 w1 progress A percent=2"], Policy(), id="two reports"),
        pytest.param(G.IDEMPOTENT_SUBMISSION, 0, ["0 c submit.invoke A key=k", "1 c submit.ok A id=1"], Policy(), id="one submission"),
        pytest.param(G.IDEMPOTENT_SUBMISSION, 1, ["0 c submit.invoke A key=k", "1 c submit.ok A id=1", "2 c submit.invoke A key=k", "3 c submit.fail A"], Policy(), id="a second one refused"),
        pytest.param(G.DEAD_LETTER_IF_EXHAUSTED, 0, TRIED_ONCE, Policy(attempts_max=2), id="attempts left"),
        pytest.param(G.DEAD_LETTER_IF_EXHAUSTED, 1, [*TRIED_ONCE, "3 d state A to=FAILED"], Policy(attempts_max=1), id="failed for good, by its row"),
    ],
)  # fmt: skip
def test_what_puts_a_promise_to_the_test(guarantee: G, expected: int, lines: list[str], policy: Policy) -> None:
    assert CHECKERS[guarantee](History(map(event, lines)), policy).exercised == expected


def test_a_state_that_there_is_none_of_is_named_with_those_that_there_are() -> None:
    (breach,) = CHECKERS[G.LEGAL_TRANSITIONS](History([event("0 d state A to=QUEUED")]), Policy()).violations

    assert breach.what.startswith("'QUEUED' is no state of the life cycle; there are ACCEPTED, ")


TWO_EFFECTS = (*RAN, "2 w1 effect A")


@pytest.mark.parametrize(
    ("expected", "guarantee", "lines", "problems"),
    [
        pytest.param(("A",), G.EFFECT_AT_MOST_ONCE, [*TWO_EFFECTS, DONE], ["redis did not start"], id="events that are there stand"),
        pytest.param("unknown", G.NO_PHANTOM_TASK, ["1 w effect Z", *RAN, DONE], ["redis did not start"], id="a gap in the record may be the lab's"),
        pytest.param("unknown", G.NO_LOST_TASK, [*SUBMITTED, final()], ["redis did not start"], id="nothing is lost"),
        pytest.param("unknown", G.NO_LOST_TASK, [*RAN, DONE], ["redis did not start"], id="nothing is held"),
        pytest.param("unknown", G.NO_LOST_TASK, [*RAN, "2 l fault.begin - fault=k target=w", "3 l fault.healed - fault=k target=w", DONE], [],
                     id="a fault that did not bite is never green"),
        pytest.param(("Z",), G.NO_PHANTOM_TASK, ["1 w effect Z", *RAN, "2 l fault.begin - fault=k target=w", DONE], [],
                     id="and hides nothing that is proven"),
    ],
)  # fmt: skip
def test_what_stands_when_the_lab_failed(
    expected: object, guarantee: G, lines: list[str | Event], problems: list[str]
) -> None:
    assert verdict(guarantee, *lines, problems=problems) == expected
