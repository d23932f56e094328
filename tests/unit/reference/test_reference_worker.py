"""The worker: acknowledged last, whatever a handler does, and never ended by what a message or a handler holds."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from reference_impl.attempt import Attempt
from reference_impl.errors import (
    BrokerConnectionLost,
    BrokerUnavailable,
    CommitUnknown,
    DatabaseUnavailable,
    PermanentFailure,
    TransientFailure,
)
from reference_impl.loops import worker
from reference_impl.loops.backoff import RETRY_DELAY_S
from reference_impl.loops.heartbeat import run_heartbeat
from reference_impl.loops.worker import Worker
from reference_impl.ports import Delivery
from reference_impl.rows import cancellation
from reference_impl.task import Task, TaskState
from tests.unit.reference.reference_world import SETTINGS, World

Handler = Callable[[Attempt], Any]


class Script:
    """A consumer that hands out messages and notes what becomes of them; `on_settle` looks at the world just then."""

    def __init__(self, *bodies: bytes, on_settle: Callable[[], object] = lambda: None) -> None:
        self._bodies = list(bodies)
        self._on_settle = on_settle
        self.settled: list[Any] = []
        self.closed = False

    def receive(self, *, timeout_s: float) -> Delivery | None:
        return Delivery(1, self._bodies.pop(0), redelivered=False) if self._bodies else None

    def ack(self, _delivery: Delivery) -> None:
        self.settled.append(("ack", self._on_settle()))

    def reject(self, _delivery: Delivery, *, requeue: bool) -> None:
        self.settled.append(("requeue" if requeue else "bury", self._on_settle()))

    def close(self) -> None:
        self.closed = True


def deliver(one: Worker, body: bytes, **options: Any) -> list[Any]:
    """What the worker did with the message, and what the world looked like at that moment."""
    consumer = Script(**options)
    one.handle_delivery(consumer, Delivery(1, body, redelivered=False))
    return consumer.settled


def message(task: Task) -> bytes:
    return json.dumps({"task_id": task.id}).encode()


def fails(error: BaseException) -> Handler:
    def handler(_attempt: Attempt) -> None:
        raise error

    return handler


ENDINGS: dict[str, tuple[Handler, TaskState]] = {
    "success": (lambda _: {"done": 1}, TaskState.SUCCEEDED),
    "no result": (lambda _: None, TaskState.SUCCEEDED),
    "transient": (fails(TransientFailure("busy")), TaskState.RETRYING),
    "permanent": (fails(PermanentFailure("no")), TaskState.FAILED),
    "unknown": (fails(ZeroDivisionError()), TaskState.RETRYING),
    "wants to end the process": (fails(SystemExit(3)), TaskState.RETRYING),
    "result is no object": (lambda _: ["list"], TaskState.FAILED),
    "result is no JSON": (lambda _: {"a": object()}, TaskState.FAILED),
    "result is NaN": (lambda _: {"a": float("nan")}, TaskState.FAILED),
    "result is no text": (lambda _: {"a": "\ud800"}, TaskState.FAILED),
    "result is too deep": (lambda _: {"a": nested(5000)}, TaskState.FAILED),
    "result is too large": (lambda _: {"a": "x" * 1000}, TaskState.FAILED),
    "message is no text": (fails(TransientFailure("\ud800")), TaskState.RETRYING),
}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(("handler", "state"), ENDINGS.values(), ids=ENDINGS)
def test_the_message_is_acknowledged_once_and_after_the_outcome_is_durable(
    world: World, handler: Handler, state: TaskState
) -> None:
    """R10, R25: whatever the handler does, the worker lives and its outcome is written first."""
    task = world.submit()

    settled = deliver(world.worker(handler), message(task), on_settle=lambda: world.find(task).status)

    assert settled == [("ack", state)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"no json",
        b"[]",
        b"7",
        b"null",
        b"{}",
        b'{"task_id": 7}',
        b'{"task_id": null}',
        b'{"task_id": ""}',
        b'{"task_id": "\\ud800"}',
        b'{"task_id": "a b"}',
        b'{"task_id": "' + b"x" * 37 + b'"}',
        b'{"task_id": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"task_id":' * 50_000,
    ],
    ids=range(16),
)
def test_a_message_that_is_none_of_ours_is_buried_and_the_worker_lives(world: World, body: bytes) -> None:
    """R10: a crash would hand it to the next worker, and so on."""
    assert deliver(world.worker(lambda _: None), body) == [("bury", None)]


def test_a_message_of_a_task_that_is_not_there_is_acknowledged(world: World) -> None:
    assert deliver(world.worker(lambda _: None), b'{"task_id": "nobody"}') == [("ack", None)]


def test_a_second_copy_of_a_message_runs_nothing(world: World) -> None:
    """R9: while the task runs, after it has ended, and before its retry is due."""
    ran: list[int] = []

    def handler(attempt: Attempt) -> None:
        ran.append(attempt.number)
        assert deliver(world.worker(fails(AssertionError()), name="worker-2"), message(attempt.task)) == [("ack", None)]
        if attempt.number == 1:
            raise TransientFailure("busy")

    task = world.submit()
    for _ in range(2):
        deliver(world.worker(handler), message(task))
        deliver(world.worker(handler), message(task))
        world.time.pass_(10.0)

    assert ran == [1, 2]


@pytest.mark.parametrize("ended", ["succeeded", "cancelled", "expired"])
def test_a_task_that_has_ended_does_not_run(world: World, ended: str) -> None:
    """R16."""
    task = world.submit(deadline_s=5.0)
    if ended == "succeeded":
        world.succeed(world.claim(task))
    elif ended == "cancelled":
        cancellation.cancel(world.engine, task.id, actor="api")
    else:
        world.time.pass_(5.0)

    assert deliver(world.worker(fails(AssertionError())), message(task)) == [("ack", None)]


def test_a_type_that_nobody_handles_fails_and_says_so(world: World) -> None:
    """R15: no retry brings a handler."""
    task = world.submit(type="unheard-of")

    deliver(world.worker(None), message(task))

    row = world.find(task)
    assert (row.status, row.failure_message) == (
        TaskState.FAILED,
        "no handler for tasks of type 'unheard-of'",
    )


def test_no_transaction_and_no_connection_is_held_while_the_handler_runs(world: World) -> None:
    """R3."""
    in_use: list[int] = []
    task = world.submit()

    deliver(world.worker(lambda _: in_use.append(world.engine.pool.checkedout())), message(task))  # type: ignore[attr-defined]

    assert in_use == [0]


def test_every_attempt_shows_the_same_key_and_a_higher_fence(world: World) -> None:
    """R17, R20."""
    shown: list[tuple[str, int, int]] = []

    def handler(attempt: Attempt) -> None:
        shown.append((attempt.idempotency_key, attempt.fence, attempt.number))
        raise TransientFailure("busy")

    task = world.submit()
    for _ in range(SETTINGS.attempts_max):
        deliver(world.worker(handler), message(task))
        world.time.pass_(100.0)

    assert shown == [(task.id, 1, 1), (task.id, 2, 2), (task.id, 3, 3)]


def test_a_message_waits_with_its_worker_for_a_database_that_is_away(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R10: a returned message would be delivered again at once and, at the delivery limit, be dead-lettered."""
    troubles = [DatabaseUnavailable("away")] * (SETTINGS.delivery_limit + 5)
    claim = worker.claim_task

    def sometimes(*given: Any, **options: Any) -> Any:
        if troubles:
            raise troubles.pop()
        return claim(*given, **options)

    monkeypatch.setattr(worker, "claim_task", sometimes)
    task = world.submit()

    assert deliver(world.worker(lambda _: None), message(task)) == [("ack", None)]
    assert world.find(task).status is TaskState.SUCCEEDED


def test_a_claim_whose_commit_is_unknown_is_not_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """R2: the claim may have been committed; if so, its lease expires."""
    claim = worker.claim_task
    calls: list[int] = []

    def committed_but_unknown(*given: Any, **options: Any) -> Any:
        calls.append(1)
        answer = claim(*given, **options)
        if len(calls) == 1:
            raise CommitUnknown("cut")
        return answer

    monkeypatch.setattr(worker, "claim_task", committed_but_unknown)
    task = world.submit()

    assert deliver(world.worker(fails(AssertionError())), message(task)) == [("ack", None)]
    world.time.pass_(SETTINGS.lease_s + 1)
    world.sweep()
    assert world.find(task).status is TaskState.RETRYING


def test_a_message_is_given_back_when_it_is_time_to_end_and_the_database_is_away(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R30."""

    def away(*_: Any, **__: Any) -> Any:
        raise DatabaseUnavailable("away")

    monkeypatch.setattr(worker, "claim_task", away)

    assert deliver(world.worker(lambda _: None, rests=3), message(world.submit())) == [("requeue", None)]


def test_settling_goes_on_until_the_lease_has_run_out_and_then_gives_the_message_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R10: the outcome is not durable, so the message is not acknowledged."""
    tries: list[float] = []

    def away(*_: Any) -> Any:
        tries.append(world.time.monotonic_s())
        raise DatabaseUnavailable("away")

    def handler(_attempt: Attempt) -> None:
        monkeypatch.setattr(worker, "transact", away)

    task = world.submit()

    assert deliver(world.worker(handler), message(task)) == [("requeue", None)]
    assert tries[-1] - tries[0] == pytest.approx(SETTINGS.lease_s, abs=2 * RETRY_DELAY_S)
    assert world.find(task).status is TaskState.RUNNING


def test_a_claim_is_under_the_heartbeat_s_care_while_its_handler_runs_and_not_after(world: World) -> None:
    """R20."""
    cared_for: list[list[str]] = []
    task = world.submit()

    deliver(world.worker(lambda _: cared_for.append([claim.task.id for claim in world.held.snapshot()])), message(task))

    assert cared_for == [[task.id]]
    assert world.held.snapshot() == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit()])
def test_a_handler_that_ends_its_thread_leaves_nothing_under_the_heartbeat_s_care(
    world: World, error: BaseException
) -> None:
    """R20: else a dead attempt would be renewed for ever."""
    task = world.submit()

    with pytest.raises(type(error)):
        deliver(world.worker(fails(error)), message(task))

    assert world.held.snapshot() == []
    world.time.pass_(SETTINGS.lease_s + 1)
    world.sweep()
    assert world.find(task).status is TaskState.RETRYING


def test_progress_is_shown_and_never_fails_an_attempt(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """R4."""

    def handler(attempt: Attempt) -> None:
        attempt.report("half of a pair \ud800", 50)
        attempt.report("x" * 5000, 60)

    task = world.submit()
    deliver(world.worker(handler), message(task))

    assert world.find(task).status is TaskState.SUCCEEDED
    assert world.cache.read_progress(task.id) == {"attempt": "1", "step": "x" * 200, "percent": "60"}


def test_a_slot_waits_for_the_broker_and_closes_what_it_opened(world: World) -> None:
    """R10, R30."""
    ran: list[str] = []
    task = world.submit()

    class Losing(Script):
        def ack(self, _delivery: Delivery) -> None:
            raise BrokerConnectionLost("cut")

    losing, healthy = Losing(message(task)), Script(message(task))
    consumers = iter([None, losing, healthy])

    class Broker:
        declared = 0

        def declare(self, _topology: object) -> None:
            self.declared += 1

        def open_consumer(self, _queue: str, *, prefetch: int) -> Script:
            consumer = next(consumers)
            if consumer is None:
                raise BrokerUnavailable("refused")
            return consumer

    broker = Broker()
    one = world.worker(lambda attempt: ran.append(attempt.task.id), rests=3)
    object.__setattr__(one, "broker", broker)
    original = healthy.receive

    def receive(*, timeout_s: float) -> Delivery | None:
        delivery = original(timeout_s=timeout_s)
        if delivery is None:
            one.runtime.shutdown.wait(1.0)
        return delivery

    healthy.receive = receive  # type: ignore[method-assign]
    one.run_slot()

    assert ran == [task.id], "the second delivery of the same message runs nothing"
    assert healthy.settled == [("ack", None)]
    assert (losing.closed, healthy.closed, broker.declared) == (True, True, 3)


@pytest.mark.parametrize("why", ["withdrawn", "taken over"])
def test_a_handler_that_is_told_to_stop_can_leave_off_between_steps(world: World, why: str) -> None:
    """R16: the heartbeat informs the attempt that its user has cancelled the task, or that another attempt has taken over."""
    task = world.submit()
    steps: list[int] = []

    def handler(attempt: Attempt) -> None:
        for step in range(1, 6):
            if attempt.should_stop:
                raise TransientFailure("told to stop")
            steps.append(step)
            if step == 2:
                if why == "withdrawn":
                    cancellation.cancel(world.engine, task.id, actor="api")
                else:
                    world.time.pass_(SETTINGS.lease_s + 1)
                    world.sweep()
                run_heartbeat(
                    world.runtime("worker-1", rests=2), world.engine, world.held, every_s=0.1, lease_s=SETTINGS.lease_s
                )

    assert deliver(world.worker(handler), message(task)) == [("ack", None)]

    assert steps == [1, 2]
    assert world.find(task).status is (TaskState.CANCELLED if why == "withdrawn" else TaskState.RETRYING)
