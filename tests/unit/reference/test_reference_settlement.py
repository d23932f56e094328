"""Settling attempts, in every interleaving of two attempts, a lost reply, the rescuer and a cancellation."""

import itertools
from collections.abc import Callable, Iterator, Sequence

import pytest

from reference_impl.retry import Failure
from reference_impl.rows import cancellation
from reference_impl.rows.cancellation import Cancelled
from reference_impl.rows.settlement import Settled
from reference_impl.task import FINAL, HELD, Claim, Task, TaskState
from tests.unit.reference.reference_world import AWAY_S, PERMANENT, SETTINGS, TRANSIENT, UNKNOWN, World

Outcome = Failure | None
"""How an attempt goes: None is success."""
OUTCOMES: dict[str, Outcome] = {"success": None, "transient": TRANSIENT, "permanent": PERMANENT}
ENDS = {"success": Settled.SUCCEEDED, "transient": Settled.RETRYING, "permanent": Settled.FAILED}


def settle(world: World, claim: Claim, outcome: Outcome) -> Settled:
    return world.succeed(claim, {"by": claim.owner}) if outcome is None else world.fail(claim, outcome, delay_s=0.0)


def interleavings(*programs: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every order of all steps in which each program's own steps keep theirs."""
    if not any(programs):
        yield ()
        return
    for index, program in enumerate(programs):
        if program:
            rest = [*programs[:index], program[1:], *programs[index + 1 :]]
            yield from ((program[0], *order) for order in interleavings(*rest))


class Play:
    """One task, and the steps of its actors."""

    def __init__(self, world: World, first: Outcome, second: Outcome) -> None:
        self.world = world
        self.task = world.submit()
        self.first = world.claim(self.task, "first")
        self.second: Claim | None = None
        self.outcomes = {"first": first, "second": second}
        self.settled: dict[str, list[Settled]] = {"first": [], "second": []}
        self.cancelled: Cancelled | None = None

    def step(self, name: str) -> None:
        steps: dict[str, Callable[[], object]] = {
            "first settles": lambda: self.settle("first", self.first),
            "its reply is lost": lambda: self.settle("first", self.first),
            "lease runs out": lambda: self.world.time.pass_(SETTINGS.lease_s + 1),
            "sweep": self.world.sweep,
            "second claims": self.claim_second,
            "second settles": lambda: self.second and self.settle("second", self.second),
            "cancel": self.cancel,
        }
        steps[name]()

    def settle(self, who: str, claim: Claim) -> None:
        """The holder of the task decides its outcome; an attempt that is not the holder changes nothing, and learns so."""
        before = self.world.find(self.task)
        holds = before.fence == claim.fence and before.status in HELD
        told = settle(self.world, claim, self.outcomes[who])
        if holds:
            assert told is not Settled.NOT_HELD
        else:
            assert told is Settled.NOT_HELD
            assert self.world.find(self.task) == before
        self.settled[who].append(told)

    def claim_second(self) -> None:
        self.second = self.world.try_to_claim(self.task, "second")

    def cancel(self) -> None:
        self.cancelled = cancellation.cancel(self.world.engine, self.task.id, actor="api")


def check(play: Play) -> None:
    """What holds however it went."""
    world, task = play.world, play.world.find(play.task)
    trail = world.trail(play.task)
    finals = [state for state in trail if state in FINAL]

    assert len(finals) == (1 if task.status in FINAL else 0), "nothing leaves a final state"
    assert trail.count("RUNNING") == task.fence == task.attempt
    assert (task.lease_owner is None) == (task.status not in HELD)
    assert task.next_attempt_us is None or task.status is not TaskState.RUNNING
    for who in ("first", "second"):
        assert len({outcome for outcome in play.settled[who] if outcome is not Settled.NOT_HELD}) <= 1
    winners = [who for who in ("first", "second") if Settled.SUCCEEDED in play.settled[who]]
    if task.status is TaskState.SUCCEEDED:
        assert task.result == {"by": winners[0]}
        assert len(winners) == 1
    else:
        assert winners == [], "whoever is told that it succeeded has"
    assert len(world.outbox(task_id=task.id, queue=SETTINGS.work_queue)) == 1 + trail.count("RETRYING")
    if play.cancelled is Cancelled.DONE:
        assert task.status is TaskState.CANCELLED
    if play.cancelled in {Cancelled.ASKED, Cancelled.DONE}:
        cancelled_at = [state for state in trail if state == "CANCELLED"]
        assert cancelled_at or task.status in {*HELD, TaskState.SUCCEEDED, TaskState.FAILED}, "a wish is not forgotten"


@pytest.mark.slow
@pytest.mark.parametrize("second", OUTCOMES)
@pytest.mark.parametrize("first", OUTCOMES)
def test_no_interleaving_of_two_attempts_and_the_rescuer_breaks_the_life_cycle(
    world: World, first: str, second: str
) -> None:
    """R2, R9, R20: a late failure, a late success or a lost reply never changes another actor's outcome."""
    told = set()
    for order in interleavings(
        ("first settles", "its reply is lost"), ("lease runs out", "sweep"), ("second claims", "second settles")
    ):
        play = Play(world, OUTCOMES[first], OUTCOMES[second])
        for name in order:
            play.step(name)
        check(play)
        told |= set(play.settled["first"])

    assert told == {ENDS[first], Settled.NOT_HELD}, "both were tried: to be in time, and to be late"


@pytest.mark.slow
def test_no_interleaving_with_a_cancellation_forgets_it(world: World) -> None:
    """R16: what was asked for while an attempt ran holds for the attempts after it."""
    answers = set()
    for order in interleavings(
        ("first settles",), ("lease runs out", "sweep"), ("second claims", "second settles"), ("cancel",)
    ):
        play = Play(world, TRANSIENT, TRANSIENT)
        for name in order:
            play.step(name)
        check(play)
        answers.add(play.cancelled)

    assert answers == {Cancelled.DONE, Cancelled.ASKED}


def test_after_a_lost_reply_settling_again_changes_nothing(world: World) -> None:
    """R10: settling is tried again when the answer to its commit never came."""
    for outcome, settled in (
        (None, Settled.SUCCEEDED),
        (TRANSIENT, Settled.RETRYING),
        (UNKNOWN, Settled.RETRYING),
        (PERMANENT, Settled.FAILED),
    ):
        claim = world.claim(world.submit())
        first = settle(world, claim, outcome)
        trail = world.trail(claim.task)

        again = settle(world, claim, outcome)

        assert (first, again) == (settled, Settled.NOT_HELD)
        assert world.trail(claim.task) == trail


def test_a_lost_reply_of_the_last_attempt_writes_no_second_dead_letter(world: World) -> None:
    """R12."""
    task = world.submit()
    for _ in range(SETTINGS.attempts_max - 1):
        world.fail(world.claim(task), delay_s=0.0)
    last = world.claim(task)

    assert [world.fail(last), world.fail(last)] == [Settled.DEAD, Settled.NOT_HELD]
    assert [letter.task_id for letter in world.letters()] == [task.id]
    assert len(world.outbox(queue=SETTINGS.dead_queue)) == 1


@pytest.mark.parametrize("failure", [TRANSIENT, UNKNOWN])
def test_the_last_of_all_attempts_ends_dead_with_a_letter_and_not_before(world: World, failure: Failure) -> None:
    """R10, R12, R15."""
    task = world.submit()
    settled = []
    for _ in range(SETTINGS.attempts_max):
        settled.append(world.fail(world.claim(task), failure, delay_s=0.0))

    letter = world.letters()[0]
    assert settled == [Settled.RETRYING, Settled.RETRYING, Settled.DEAD]
    assert (letter.task_id, letter.reason, letter.attempts) == (task.id, "exhausted", 3)
    assert (letter.failure_class, letter.failure_message) == (failure.error_class, failure.message or None)
    assert world.try_to_claim(task) is None


def test_an_error_that_no_retry_heals_fails_at_once_and_writes_no_letter(world: World) -> None:
    """R15: FAILED, not DEAD."""
    task = world.submit()

    settled = world.fail(world.claim(task), PERMANENT)

    row = world.find(task)
    assert (settled, row.status) == (Settled.FAILED, TaskState.FAILED)
    assert (row.failure_class, row.failure_message) == ("Wrong", "wrong")
    assert world.letters() == []


def test_a_retry_waits_as_long_as_it_was_told_and_so_does_its_message(world: World) -> None:
    """R15: the message comes when the task is due, never before."""
    task = world.submit()
    before_us = world.time.now_us
    world.fail(world.claim(task), delay_s=2.0)

    row = world.find(task)
    message = world.outbox(task_id=task.id)[-1]
    assert row.next_attempt_us is not None
    assert before_us + 2_000_000 <= row.next_attempt_us <= message.available_us <= world.time.now_us + 2_000_000
    assert row.enqueued_us == pytest.approx(row.next_attempt_us, abs=5)


def test_success_after_the_deadline_is_no_success(world: World) -> None:
    """R1: EXPIRED: its deadline passed before it succeeded."""
    task = world.submit(deadline_s=5.0)
    claim = world.claim(task)
    world.time.pass_(5.0)

    assert world.succeed(claim, {"late": True}) is Settled.EXPIRED
    assert world.find(task).status is TaskState.EXPIRED
    assert world.find(task).result is None


def test_a_cancelled_attempt_that_fails_is_cancelled_whatever_its_error(world: World) -> None:
    """R16."""
    for failure in (TRANSIENT, PERMANENT):
        claim = world.claim(world.submit())
        answer = cancellation.cancel(world.engine, claim.task.id, actor="api")

        assert answer is Cancelled.ASKED
        assert world.fail(claim, failure) is Settled.CANCELLED


def test_a_cancelled_attempt_that_succeeds_has_succeeded(world: World) -> None:
    """R16: its effects are done; the API said only that it was asked to stop."""
    claim = world.claim(world.submit())
    cancellation.cancel(world.engine, claim.task.id, actor="api")

    assert world.succeed(claim) is Settled.SUCCEEDED


def test_a_failure_longer_than_its_columns_is_cut(world: World) -> None:
    """R18, R25."""
    claim = world.claim(world.submit())

    assert world.fail(claim, Failure("permanent", "E" * 300, "m" * 501)) is Settled.FAILED
    row = world.find(claim.task)
    assert (row.failure_class, row.failure_message) == ("E" * 64, "m" * 500)


@pytest.mark.parametrize("state", [TaskState.ACCEPTED, TaskState.RETRYING])
def test_a_waiting_task_is_cancelled_at_once_and_never_runs(world: World, state: TaskState) -> None:
    """R16."""
    task = world.submit()
    if state is TaskState.RETRYING:
        world.fail(world.claim(task), delay_s=0.0)

    answers = [cancellation.cancel(world.engine, task.id, actor="api") for _ in range(2)]

    assert answers == [Cancelled.DONE, Cancelled.DONE]
    assert world.try_to_claim(task) is None
    assert world.trail(task)[-2:] == [state, "CANCELLED"]


def test_an_ended_task_and_an_unknown_one_cannot_be_cancelled(world: World) -> None:
    """R16."""
    task = world.submit()
    world.succeed(world.claim(task))

    assert cancellation.cancel(world.engine, task.id, actor="api") is Cancelled.TOO_LATE
    assert cancellation.cancel(world.engine, "nobody", actor="api") is Cancelled.NOT_FOUND
    assert world.find(task).cancel_requested is False


def test_a_claim_of_another_task_of_this_fence_changes_nothing(world: World) -> None:
    """R20: fences count per task."""
    mine, other = world.submit(), world.submit()
    claim = world.claim(mine)
    other_claim = world.claim(other)

    world.succeed(claim)

    assert world.find(other).status is TaskState.RUNNING
    assert world.succeed(other_claim) is Settled.SUCCEEDED


def test_interleavings_are_complete() -> None:
    """The enumeration itself: 2, 2 and 2 steps in their order can be mixed in 6! / (2! 2! 2!) ways."""
    orders = list(interleavings("ab", "cd", "ef"))

    assert len(orders) == len(set(orders)) == 90
    assert set(itertools.chain.from_iterable(orders)) == set("abcdef")


def retried_by_another(world: World, task: Task) -> None:
    world.fail(world.claim(task, "worker-2"), delay_s=0.0)
    world.time.pass_(0.001)


@pytest.mark.parametrize(
    "after", [lambda *_: None, retried_by_another], ids=["at once", "after another attempt failed"]
)
def test_a_cancellation_promises_nothing_while_a_worker_that_lost_its_lease_may_still_run(
    world: World, after: Callable[[World, Task], None]
) -> None:
    """R16: it may only be paused; the simulator found its effect after `cancelled`."""
    task = world.submit()
    world.claim(task)
    world.time.pass_(AWAY_S)
    world.sweep()
    after(world, task)

    answers = [cancellation.cancel(world.engine, task.id, actor="api") for _ in range(2)]

    assert answers == [Cancelled.ASKED, Cancelled.ASKED]
    assert world.find(task).status is TaskState.CANCELLED


def test_nor_if_it_was_asked_to_stop_before_it_lost_its_lease(world: World) -> None:
    """R16: the sweep ends the task as cancelled."""
    task = world.submit()
    world.claim(task)
    cancellation.cancel(world.engine, task.id, actor="api")
    world.time.pass_(AWAY_S)
    world.sweep()

    assert world.find(task).status is TaskState.CANCELLED
    assert cancellation.cancel(world.engine, task.id, actor="api") is Cancelled.ASKED
