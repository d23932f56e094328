"""Known kinds of misbehaviour, each planted into a history: which promises it breaks, and whom that proves it by."""

from collections.abc import Callable, Mapping

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import Schedule
from tests.history_strategies import Draft, spawn

Expected = Mapping[Guarantee, tuple[str, ...]]
Plant = Callable[[Draft, float], Expected]

X = "planted"
UNTROUBLED_S = 800
"""From here on no fault of a legal draft is at work that could explain or excuse anything."""
LATE_S = 1001
"""From here on the budget of a task is not over when the history ends."""


def _done(draft: Draft, task: str = X) -> None:
    draft.lists["done"].append(task)


def lost(draft: Draft, at_s: float) -> Expected:
    """Acknowledged, and never heard of again."""
    draft.submit(at_s, X)
    return {Guarantee.NO_LOST_TASK: (X,)}


def lost_after_a_crash(draft: Draft, at_s: float) -> Expected:
    """Its worker died, and nobody took it up again."""
    draft.submit(at_s, X)
    draft.crash(at_s + 1, X, "worker-x", 1)
    return {Guarantee.NO_LOST_TASK: (X,)}


def one_lost_one_doubled(draft: Draft, at_s: float) -> Expected:
    """The counts agree, the identities do not."""
    draft.submit(at_s, X)
    draft.submit(at_s, "doubled")
    draft.succeed(at_s + 1, "doubled", "worker-x")
    draft.write("1.25 worker-x effect doubled fence=1", from_s=at_s)
    _done(draft, "doubled")
    doubled = ("doubled",)
    return {
        Guarantee.NO_LOST_TASK: (X,),
        Guarantee.EXACTLY_ONE_EFFECT: doubled,
        Guarantee.EFFECT_AT_MOST_ONCE: doubled,
    }


def stuck(draft: Draft, at_s: float) -> Expected:
    """Still there at the end, after its worker died."""
    at_s += LATE_S
    draft.submit(at_s, X)
    draft.row(at_s + 0.9, X, "ACCEPTED", "RUNNING")
    draft.crash(at_s + 1, X, "worker-x", 1)
    draft.lists["pending"].append(X)
    return {Guarantee.NO_STUCK_TASK: (X,)}


def stuck_unacknowledged(draft: Draft, at_s: float) -> Expected:
    """Accepted without an answer, and still waiting."""
    at_s += LATE_S
    draft.submit(at_s, X, "info")
    draft.row(at_s + 1, X, "ACCEPTED", "RUNNING")
    draft.lists["pending"].append(X)
    return {Guarantee.NO_STUCK_TASK: (X,)}


def phantom(draft: Draft, at_s: float) -> Expected:
    """Ran, and nobody had submitted it."""
    draft.row(at_s, X, None, "ACCEPTED")
    draft.succeed(at_s, X, "worker-x")
    _done(draft)
    return {Guarantee.NO_PHANTOM_TASK: (X,)}


def resurrected(draft: Draft, at_s: float) -> Expected:
    """The client was told no, and it ran."""
    draft.row(at_s, X, None, "ACCEPTED")
    draft.submit(at_s, X, "fail")
    draft.succeed(at_s + 1, X, "worker-x")
    _done(draft)
    return {Guarantee.NO_PHANTOM_TASK: (X,)}


def effect_missing(draft: Draft, at_s: float) -> Expected:
    """Called done, and never did anything."""
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x", effect=False)
    _done(draft)
    return {Guarantee.EXACTLY_ONE_EFFECT: (X,)}


def effect_twice(draft: Draft, at_s: float) -> Expected:
    """A lost ack explains the repeat, and nothing the second effect."""
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x", 1, ack="info")
    draft.succeed(at_s + 3, X, "worker-y", 2)
    _done(draft)
    return {Guarantee.EXACTLY_ONE_EFFECT: (X,), Guarantee.EFFECT_AT_MOST_ONCE: (X,)}


def repeat_after_confirmed_ack(draft: Draft, at_s: float) -> Expected:
    """Delivered again although its ack had arrived."""
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x", 1)
    draft.succeed(at_s + 3, X, "worker-y", 2, effect=False)
    _done(draft)
    return {Guarantee.DUPLICATES_EXPLAINED: (X,)}


def repeat_after_anothers_crash(draft: Draft, at_s: float) -> Expected:
    """Another worker died; this one was well."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.start(at_s + 1, X, "worker-x", 1)
    draft.write("1.5 worker-y crash", from_s=at_s)
    draft.succeed(at_s + 3, X, "worker-z", 2)
    _done(draft)
    return {Guarantee.DUPLICATES_EXPLAINED: (X,)}


def repeat_under_a_valid_lease(draft: Draft, at_s: float) -> Expected:
    """Taken over before its lease ran out (by somebody who did not take the lease)."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.write(f"0.9 worker-x lease.acquired resource={X} fence=1 ttl_s=30", from_s=at_s)
    draft.start(at_s + 1, X, "worker-x", 1)
    draft.succeed(at_s + 3, X, "worker-y", 2)
    _done(draft)
    return {Guarantee.DUPLICATES_EXPLAINED: (X,)}


def skips_running(draft: Draft, at_s: float) -> Expected:
    """From accepted to succeeded in one move."""
    _rows(draft, at_s, "ACCEPTED", "SUCCEEDED")
    return {Guarantee.LEGAL_TRANSITIONS: (X,)}


def leaves_a_final_state(draft: Draft, at_s: float) -> Expected:
    """A late failure overwrites a success."""
    _rows(draft, at_s, "ACCEPTED", "RUNNING", "SUCCEEDED", "RETRYING")
    return {Guarantee.LEGAL_TRANSITIONS: (X,)}


def row_overwritten(draft: Draft, at_s: float) -> Expected:
    """A move from a state that the task was no longer in."""
    _rows(draft, at_s, "ACCEPTED", "RUNNING", "SUCCEEDED")
    draft.write(f"50 database state {X} from=RUNNING to=SUCCEEDED", from_s=at_s)
    return {Guarantee.LEGAL_TRANSITIONS: (X,)}


def leaves_dead_by_itself(draft: Draft, at_s: float) -> Expected:
    """Back from the dead, and no person put it back."""
    _rows(draft, at_s, "ACCEPTED", "RUNNING", "DEAD", "ACCEPTED", "RUNNING", "SUCCEEDED")
    draft.add(at_s + 3, "database", "dead", task=X, attempts=1, reason="poison")
    return {Guarantee.LEGAL_TRANSITIONS: (X,)}


def _rows(draft: Draft, at_s: float, *states: str) -> None:
    """A refused submission, and rows all the same: nothing but the rows is judged."""
    draft.submit(at_s, X, "fail")
    before = None
    for number, state in enumerate(states):
        draft.add(at_s + 1 + number, "database", "state", task=X, from_=before, to=state)
        before = state


def dead_too_early(draft: Draft, at_s: float) -> Expected:
    """Given up as exhausted with attempts left."""
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.write(f"2 database dead {X} attempts=1 reason=exhausted", from_s=at_s)
    draft.lists["dead"].append(X)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dead_letter_missing(draft: Draft, at_s: float) -> Expected:
    """A permanent error, and no dead letter."""
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1, "permanent")
    draft.write(f"1.2 worker-x effect {X}", from_s=at_s)
    _done(draft)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dead_letter_missing_after_all_attempts(draft: Draft, at_s: float) -> Expected:
    """Three failures of three, and no dead letter."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.fail(at_s + 2.8, X, "worker-x", 2)
    draft.fail(at_s + 6.1, X, "worker-x", 3)
    draft.write(f"6.2 worker-x effect {X}", from_s=at_s)
    _done(draft)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dead_and_done(draft: Draft, at_s: float) -> Expected:
    """Both at once."""
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.succeed(at_s + 2.8, X, "worker-x", 2)
    draft.write(f"4 database dead {X} attempts=3 reason=poison", from_s=at_s)
    draft.lists["dead"].append(X)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def retry_too_soon(draft: Draft, at_s: float) -> Expected:
    """A hot loop."""
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.succeed(at_s + 1.5, X, "worker-x", 2)
    _done(draft)
    return {Guarantee.RETRY_SCHEDULE: (X,)}


def retry_too_late(draft: Draft, at_s: float) -> Expected:
    """Long after the latest time of the policy, and no fault to blame."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.succeed(at_s + 9, X, "worker-x", 2)
    _done(draft)
    return {Guarantee.RETRY_SCHEDULE: (X,)}


def retry_in_vain(draft: Draft, at_s: float) -> Expected:
    """Started again after a permanent failure."""
    draft.submit(at_s, X)
    draft.fail(at_s + 1, X, "worker-x", 1, "permanent")
    draft.write(f"1.5 database dead {X} attempts=1 reason=permanent", from_s=at_s)
    draft.fail(at_s + 3, X, "worker-x", 2, "unknown")
    draft.lists["dead"].append(X)
    return {Guarantee.RETRY_SCHEDULE: (X,)}


def too_many_retries(draft: Draft, at_s: float) -> Expected:
    """A fourth attempt of three."""
    draft.submit(at_s, X)
    for number, start_s in enumerate((1, 2.8, 6.1, 10), start=1):
        draft.fail(at_s + start_s, X, "worker-x", number)
    draft.write(f"11 database dead {X} attempts=4 reason=exhausted", from_s=at_s)
    draft.lists["dead"].append(X)
    return {Guarantee.RETRY_SCHEDULE: (X,), Guarantee.POISON_BOUNDED: (X,)}


def poison_without_end(draft: Draft, at_s: float) -> Expected:
    """Kills its worker a fourth time."""
    draft.submit(at_s, X)
    for number in range(1, 5):
        draft.crash(at_s + 2 * number, X, f"worker-x{number}", number)
    draft.write(f"20 database dead {X} attempts=4 reason=poison", from_s=at_s)
    draft.lists["dead"].append(X)
    return {Guarantee.POISON_BOUNDED: (X,)}


def two_holders(draft: Draft, at_s: float) -> Expected:
    """A lease acquired while another's had not run out."""
    draft.write(
        f"""
        0  leader-x  lease.acquired  resource={X}  fence=1  ttl_s=5
        3  leader-x  lease.renewed   resource={X}  fence=1  ttl_s=5
        6  leader-y  lease.acquired  resource={X}  fence=2  ttl_s=5
        """,
        from_s=at_s,
    )
    return {Guarantee.SINGLE_HOLDER: (X,)}


def renewed_after_it_was_lost(draft: Draft, at_s: float) -> Expected:
    """A zombie renews what another holds by now."""
    draft.write(
        f"""
        0  leader-x  lease.acquired  resource={X}  fence=1  ttl_s=5
        6  leader-y  lease.acquired  resource={X}  fence=2  ttl_s=5
        7  leader-x  lease.renewed   resource={X}  fence=1  ttl_s=5
        """,
        from_s=at_s,
    )
    return {Guarantee.SINGLE_HOLDER: (X,)}


def stale_write(draft: Draft, at_s: float) -> Expected:
    """A paused holder writes late, and is let."""
    draft.write(
        f"""
        0  leader-x  write  resource={X}  fence=1
        1  leader-y  write  resource={X}  fence=2
        2  leader-x  write  resource={X}  fence=1
        """,
        from_s=at_s,
    )
    return {Guarantee.FENCED_WRITES: (X,)}


def stale_effect(draft: Draft, at_s: float) -> Expected:
    """A zombie's effect of another step, after the new attempt's."""
    draft.submit(at_s, X)
    draft.start(at_s + 1, X, "worker-x", 1)
    draft.write("1.1 worker-x crash", from_s=at_s)
    draft.succeed(at_s + 3, X, "worker-y", 2)
    draft.write(f"3.5 worker-x effect {X} step=2 fence=1", from_s=at_s)
    _done(draft)
    return {Guarantee.FENCED_WRITES: (X,)}


def over_the_limit(draft: Draft, at_s: float) -> Expected:
    """Four let through at once, whatever the window."""
    for part in range(4):
        draft.write(f"{1000.2 + part / 10} api allowed limit=tasks user={X}")
    return {Guarantee.RATE_LIMIT_RESPECTED: (X,)}


def progress_goes_back(draft: Draft, at_s: float) -> Expected:
    """Half of the work undone."""
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x")
    for number, percent in enumerate((20, 60, 30)):
        draft.add(at_s + 1.01 + number / 100, "worker-x", "progress", task=X, attempt=1, percent=percent)
    _done(draft)
    return {Guarantee.PROGRESS_MONOTONIC: (X,)}


def status_goes_back(draft: Draft, at_s: float) -> Expected:
    """Succeeded, then running again."""
    _succeeded_with_rows(draft, at_s)
    draft.write(f"3 reader status {X} state=SUCCEEDED", f"4 reader status {X} state=RUNNING", from_s=at_s)
    return {Guarantee.STATUS_TRUTHFUL: (X,)}


def status_contradicted(draft: Draft, at_s: float) -> Expected:
    """A client read that it was cancelled, and the account says done."""
    _succeeded_with_rows(draft, at_s)
    draft.write(f"3 reader status {X} state=CANCELLED", from_s=at_s)
    return {Guarantee.STATUS_TRUTHFUL: (X,)}


def status_ahead_of_its_row(draft: Draft, at_s: float) -> Expected:
    """Read as succeeded before the row that made it so."""
    draft.submit(at_s, X, "fail")
    draft.write(
        f"""
        1  reader    status  {X}  state=EXPIRED
        2  database  state   {X}  to=ACCEPTED
        3  database  state   {X}  from=ACCEPTED  to=EXPIRED
        """,
        from_s=at_s,
    )
    draft.lists["expired"].append(X)
    return {Guarantee.STATUS_TRUTHFUL: (X,)}


def _succeeded_with_rows(draft: Draft, at_s: float) -> None:
    draft.submit(at_s, X)
    draft.row(at_s + 0.9, X, "ACCEPTED", "RUNNING")
    draft.succeed(at_s + 1, X, "worker-x")
    draft.row(at_s + 1.4, X, "RUNNING", "SUCCEEDED")
    _done(draft)


def row_without_message(draft: Draft, at_s: float) -> Expected:
    """Its row is there; the message never was."""
    at_s += LATE_S
    draft.submit(at_s, X)
    draft.lists["pending"].append(X)
    return {Guarantee.OUTBOX_ATOMIC: (X,), Guarantee.NO_STUCK_TASK: (X,)}


def message_without_row(draft: Draft, at_s: float) -> Expected:
    """It ran, and its transaction had been rolled back."""
    draft.write(f"0 client submit.invoke {X}", f"0.1 client submit.info {X}", from_s=at_s)
    draft.succeed(at_s + 1, X, "worker-x")
    _done(draft)
    return {Guarantee.OUTBOX_ATOMIC: (X,)}


def one_key_two_ids(draft: Draft, at_s: float) -> Expected:
    """The same key answered with two ids (and carried out once)."""
    for task in (X, "resubmitted"):
        draft.submit(at_s, task, key="key-x", user="user")
    draft.succeed(at_s + 1, X, "worker-x")
    _done(draft)
    draft.lists["cancelled"].append("resubmitted")
    return {Guarantee.IDEMPOTENT_SUBMISSION: (X, "resubmitted")}


def one_key_two_effects(draft: Draft, at_s: float) -> Expected:
    """One id, and yet carried out as two tasks."""
    for task in (X, "resubmitted"):
        draft.submit(at_s, task, "info", key="key-x", user="user")
        draft.succeed(at_s + 1, task, "worker-x")
        _done(draft, task)
    return {Guarantee.IDEMPOTENT_SUBMISSION: (X, "resubmitted")}


def starts_after_cancellation(draft: Draft, at_s: float) -> Expected:
    """Withdrawn with a promise, and started."""
    draft.submit(at_s, X)
    draft.write(f"0.5 client cancel.ok {X}", from_s=at_s)
    draft.succeed(at_s + 1, X, "worker-x")
    draft.lists["cancelled"].append(X)
    return {Guarantee.CANCEL_HONOURED: (X,)}


def starts_after_its_deadline(draft: Draft, at_s: float) -> Expected:
    """Too late to be of use."""
    draft.submit(at_s, X, deadline_s=at_s + 0.5)
    draft.succeed(at_s + 1, X, "worker-x")
    _done(draft)
    return {Guarantee.DEADLINE_HONOURED: (X,)}


def starts_in_a_pause(draft: Draft, at_s: float) -> Expected:
    """Started past the grace of a pause."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.write("1 admin pause.ok", from_s=at_s)
    draft.succeed(at_s + 3, X, "worker-x")
    draft.write("9 admin resume.ok", from_s=at_s)
    _done(draft)
    return {Guarantee.PAUSE_HONOURED: (X,)}


def starts_before_its_time(draft: Draft, at_s: float) -> Expected:
    """Scheduled, and early."""
    draft.submit(at_s, X, due_s=at_s + 10)
    draft.succeed(at_s + 9, X, "worker-x")
    _done(draft)
    return {Guarantee.NOT_BEFORE_DUE: (X,)}


def starts_long_after_its_time(draft: Draft, at_s: float) -> Expected:
    """Scheduled, and late for no reason."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X, due_s=at_s + 2)
    draft.succeed(at_s + 5, X, "worker-x")
    _done(draft)
    return {Guarantee.DUE_IN_TIME: (X,)}


def never_starts_at_its_time(draft: Draft, at_s: float) -> Expected:
    """Scheduled, and forgotten."""
    draft.submit(at_s + UNTROUBLED_S, X, due_s=at_s + UNTROUBLED_S + 5)
    return {Guarantee.DUE_IN_TIME: (X,), Guarantee.NO_LOST_TASK: (X,)}


def starved(draft: Draft, at_s: float) -> Expected:
    """Overtaken by more tasks that came after it than the policy allows."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X, priority=0)
    for number in range(31):
        later = f"later-{number:02}"
        draft.submit(at_s + 1 + number / 10, later, priority=9)
        draft.succeed(at_s + 5 + number / 10, later, "worker-y")
        _done(draft, later)
    draft.succeed(at_s + 20, X, "worker-x")
    _done(draft)
    return {Guarantee.PRIORITY_BOUNDED: (X,)}


def order_turned_round(draft: Draft, at_s: float) -> Expected:
    """The second of one key starts first."""
    draft.submit(at_s, "first", order_key="x")
    draft.submit(at_s + 1, X, order_key="x")
    draft.succeed(at_s + 2, X, "worker-x")
    draft.succeed(at_s + 3, "first", "worker-y")
    _done(draft)
    _done(draft, "first")
    return {Guarantee.ORDER_KEPT: (X,)}


def slow_to_recover(draft: Draft, at_s: float) -> Expected:
    """Still at work when the budget after healing was over."""
    draft.fault(430, 770 + at_s, "rabbitmq")
    draft.submit(430, X)
    draft.succeed(1771 + at_s, X, "worker-x")
    _done(draft)
    return {Guarantee.RECOVERS_IN_TIME: (X,)}


def secret_in_a_log(draft: Draft, at_s: float) -> Expected:
    """What was planted in a payload came up in a log."""
    draft.write(f"0 lab secret.found {X} target=worker.log", from_s=at_s)
    return {Guarantee.NOTHING_LEAKED: (X,)}


def ended_and_not_listed(draft: Draft, at_s: float) -> Expected:
    """Carried out, and the system's own list lacks it."""
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x")
    return {Guarantee.OUTCOME_REPORTED: (X,)}


def ended_and_read_as_running(draft: Draft, at_s: float) -> Expected:
    """Listed as done, and clients read otherwise for ever."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.succeed(at_s + 1, X, "worker-x")
    draft.add(at_s + 1002, "reader", "status", task=X, state="RUNNING")
    _done(draft)
    return {Guarantee.OUTCOME_REPORTED: (X,)}


def too_many_at_once(draft: Draft, at_s: float) -> Expected:
    """Three of one scope, and two are allowed."""
    at_s += UNTROUBLED_S
    tasks = (X, "second", "third")
    for number, task in enumerate(tasks):
        draft.submit(at_s, task, scope="x")
        draft.start(at_s + 1 + number, task, f"worker-{task}")
    for task in tasks:
        draft.add(at_s + 5, f"worker-{task}", "effect", task=task, attempt=1)
        draft.add(at_s + 5.1, f"worker-{task}", "attempt.ok", task=task, attempt=1)
        _done(draft, task)
    return {Guarantee.CONCURRENCY_BOUNDED: ("x",)}


def too_many_in_a_second(draft: Draft, at_s: float) -> Expected:
    """Four starts of one scope, one after the other, and three are allowed in a second."""
    at_s += UNTROUBLED_S
    for number, task in enumerate((X, "second", "third", "fourth")):
        draft.submit(at_s, task, scope="x")
        start_s = at_s + 1 + number / 10
        draft.start(start_s, task, "worker-x")
        draft.add(start_s + 0.02, "worker-x", "effect", task=task, attempt=1)
        draft.add(start_s + 0.05, "worker-x", "attempt.ok", task=task, attempt=1)
        _done(draft, task)
    return {Guarantee.EXECUTION_RATE_RESPECTED: ("x",)}


def waits_too_long(draft: Draft, at_s: float) -> Expected:
    """Started long after the wait that is promised to its priority."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X, priority=1)
    draft.succeed(at_s + 301, X, "worker-x")
    _done(draft)
    return {Guarantee.STARTS_IN_TIME: (X,)}


def waits_for_ever(draft: Draft, at_s: float) -> Expected:
    """Never started, and its wait is over."""
    at_s += LATE_S
    draft.submit(at_s, X, priority=1)
    draft.row(at_s + 1, X, "ACCEPTED", "RUNNING")
    draft.lists["pending"].append(X)
    return {Guarantee.STARTS_IN_TIME: (X,), Guarantee.NO_STUCK_TASK: (X,)}


def result_of_another(draft: Draft, at_s: float) -> Expected:
    """A client read what no attempt returned."""
    draft.submit(at_s, X)
    draft.row(at_s + 0.9, X, "ACCEPTED", "RUNNING")
    draft.succeed(at_s + 1, X, "worker-x")
    draft.row(at_s + 1.4, X, "RUNNING", "SUCCEEDED")
    draft.add(at_s + 2, "reader", "status", task=X, state="SUCCEEDED", result="result of another")
    _done(draft)
    return {Guarantee.RESULT_TRUTHFUL: (X,)}


def folded_and_forgotten(draft: Draft, at_s: float) -> Expected:
    """Answered with the id of a task that had started already, and nothing starts after it."""
    fields = {"key": "key-x", "user": "user"}
    draft.submit(at_s, "running", **fields)
    draft.succeed(at_s + 1, "running", "worker-x")
    draft.add(at_s + 1.1, "client", "submit.invoke", task=X, **fields)
    draft.add(at_s + 1.2, "client", "submit.ok", task=X, id="id-running", **fields)
    _done(draft, "running")
    return {Guarantee.COALESCED_SUBMISSION_RUNS: (X,)}


def _schedule(draft: Draft, *dues_s: float) -> Expected:
    draft.schedules[X] = Schedule(every_s=10, since_s=1000, until_s=1030, catch_up="all")
    for number, due_s in enumerate(dues_s):
        spawn(draft, due_s + 0.1, f"occurrence-{number}", schedule=X, due_s=due_s)
    return {Guarantee.SCHEDULE_KEPT: (X,)}


def occurrence_missing(draft: Draft, at_s: float) -> Expected:
    """One of four never came, and nothing was wrong."""
    return _schedule(draft, 1000, 1010, 1030)


def occurrence_twice(draft: Draft, at_s: float) -> Expected:
    """Two schedulers, and each made it."""
    return _schedule(draft, 1000, 1010, 1010, 1020, 1030)


def occurrence_at_no_time(draft: Draft, at_s: float) -> Expected:
    """One that the schedule does not know."""
    return _schedule(draft, 1000, 1010, 1015, 1020, 1030)


def denied_with_room(draft: Draft, at_s: float) -> Expected:
    """Nothing was let through, and the user is locked out."""
    draft.add(1000.25, "api", "denied", limit="tasks", user=X)
    return {Guarantee.DENIED_ONLY_WHEN_FULL: (X,)}


def buried_by_the_list(draft: Draft, at_s: float) -> Expected:
    """Its worker died once, and the system lists it as dead."""
    draft.submit(at_s, X)
    draft.crash(at_s + 1, X, "worker-x", 1)
    draft.lists["dead"].append(X)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dropped_and_listed_as_dead(draft: Draft, at_s: float) -> Expected:
    """Never carried out, and listed as dead."""
    draft.submit(at_s, X)
    draft.lists["dead"].append(X)
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dead_without_a_letter(draft: Draft, at_s: float) -> Expected:
    """Another was told of by a dead letter; of this one only its row says DEAD."""
    _rows(draft, at_s, "ACCEPTED", "RUNNING", "DEAD")
    draft.submit(at_s, "told")
    draft.row(at_s + 1, "told", "ACCEPTED", "DEAD")
    draft.add(at_s + 1, "database", "dead", task="told", attempts=0, reason="permanent")
    draft.lists["dead"].append("told")
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def dead_with_two_letters(draft: Draft, at_s: float) -> Expected:
    """Moved to DEAD once, and told of twice."""
    _rows(draft, at_s, "ACCEPTED", "RUNNING", "DEAD")
    for part in (3, 4):
        draft.add(at_s + part, "database", "dead", task=X, attempts=1, reason="poison")
    return {Guarantee.DEAD_LETTER_IF_EXHAUSTED: (X,)}


def cancelled_and_done(draft: Draft, at_s: float) -> Expected:
    """Its cancellation was promised while it ran; it had its effect, and is listed as done."""
    draft.submit(at_s, X)
    draft.start(at_s + 1, X, "worker-x")
    draft.add(at_s + 2, "client", "cancel.invoke", task=X)
    draft.add(at_s + 2.1, "client", "cancel.ok", task=X)
    draft.add(at_s + 5, "worker-x", "effect", task=X, attempt=1)
    draft.add(at_s + 5.1, "worker-x", "attempt.ok", task=X, attempt=1)
    _done(draft)
    return {Guarantee.CANCEL_HONOURED: (X,)}


def never_retried(draft: Draft, at_s: float) -> Expected:
    """Failed, and its retry is long due."""
    at_s += LATE_S
    draft.submit(at_s, X)
    draft.row(at_s + 0.9, X, "ACCEPTED", "RUNNING")
    draft.fail(at_s + 1, X, "worker-x", 1)
    draft.lists["pending"].append(X)
    return {Guarantee.RETRY_SCHEDULE: (X,), Guarantee.NO_STUCK_TASK: (X,)}


def never_recovered(draft: Draft, at_s: float) -> Expected:
    """Still pending long after the budget from the last healing."""
    draft.fault(430, 440 + at_s, "rabbitmq")
    draft.submit(430, X)
    draft.row(431, X, "ACCEPTED", "RUNNING")
    draft.crash(432, X, "worker-x", 1)
    draft.lists["pending"].append(X)
    return {Guarantee.RECOVERS_IN_TIME: (X,), Guarantee.NO_STUCK_TASK: (X,)}


def starved_for_ever(draft: Draft, at_s: float) -> Expected:
    """Overtaken by more tasks than the policy allows, and never started."""
    at_s += LATE_S
    draft.submit(at_s, X, priority=0)
    draft.row(at_s + 1, X, "ACCEPTED", "RUNNING")
    for number in range(31):
        later = f"later-{number:02}"
        draft.submit(at_s + 1 + number / 10, later, priority=9)
        draft.succeed(at_s + 5 + number / 10, later, "worker-y")
        _done(draft, later)
    draft.lists["pending"].append(X)
    return {Guarantee.PRIORITY_BOUNDED: (X,), Guarantee.NO_STUCK_TASK: (X,)}


def done_before_the_work(draft: Draft, at_s: float) -> Expected:
    """A client read SUCCEEDED before the task had any effect."""
    draft.submit(at_s, X)
    draft.row(at_s + 0.8, X, "ACCEPTED", "RUNNING")
    draft.row(at_s + 0.9, X, "RUNNING", "SUCCEEDED")
    draft.add(at_s + 1, "reader", "status", task=X, state="SUCCEEDED")
    draft.succeed(at_s + 2, X, "worker-x")
    _done(draft)
    return {Guarantee.STATUS_TRUTHFUL: (X,)}


AUDITED_KINDS: tuple[Plant, ...] = (
    skips_running,
    leaves_a_final_state,
    row_overwritten,
    leaves_dead_by_itself,
    status_ahead_of_its_row,
    row_without_message,
    message_without_row,
    dead_without_a_letter,
    dead_with_two_letters,
)
"""Kinds that only an audit trail can show."""

KINDS: tuple[Plant, ...] = (
    lost,
    lost_after_a_crash,
    one_lost_one_doubled,
    stuck,
    stuck_unacknowledged,
    phantom,
    resurrected,
    effect_missing,
    effect_twice,
    repeat_after_confirmed_ack,
    repeat_after_anothers_crash,
    repeat_under_a_valid_lease,
    dead_too_early,
    dead_letter_missing,
    dead_letter_missing_after_all_attempts,
    dead_and_done,
    retry_too_soon,
    retry_too_late,
    retry_in_vain,
    too_many_retries,
    poison_without_end,
    two_holders,
    renewed_after_it_was_lost,
    stale_write,
    stale_effect,
    over_the_limit,
    progress_goes_back,
    status_goes_back,
    status_contradicted,
    one_key_two_ids,
    one_key_two_effects,
    starts_after_cancellation,
    starts_after_its_deadline,
    starts_in_a_pause,
    starts_before_its_time,
    starts_long_after_its_time,
    never_starts_at_its_time,
    starved,
    order_turned_round,
    slow_to_recover,
    secret_in_a_log,
    ended_and_not_listed,
    ended_and_read_as_running,
    too_many_at_once,
    too_many_in_a_second,
    waits_too_long,
    waits_for_ever,
    result_of_another,
    folded_and_forgotten,
    occurrence_missing,
    occurrence_twice,
    occurrence_at_no_time,
    denied_with_room,
    buried_by_the_list,
    dropped_and_listed_as_dead,
    cancelled_and_done,
    never_retried,
    never_recovered,
    starved_for_ever,
    done_before_the_work,
)
"""Every other kind."""


def planted(draft: Draft, plant: Plant, at_s: float) -> tuple[Draft, Expected]:
    """A copy of the draft with one anomaly in it, and what that breaks."""
    copy = Draft(
        draft.window,
        draft.audited,
        draft.leased,
        list(draft.events),
        {name: list(tasks) for name, tasks in draft.lists.items()},
        draft.end_s,
        dict(draft.schedules),
    )
    return copy, plant(copy, at_s)
