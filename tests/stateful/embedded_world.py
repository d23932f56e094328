"""The embedded reference, driven by hand: one thread, a clock that only moves when told, and a history of all that happens."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.pool import StaticPool

from reference_impl.adapters.memory import MemoryBroker, MemoryCache
from reference_impl.adapters.sqlite import sqlite_engine
from reference_impl.attempt import Attempt
from reference_impl.components import topology
from reference_impl.errors import PermanentFailure, TransientFailure
from reference_impl.fast import lock
from reference_impl.loops.heartbeat import HeldClaims
from reference_impl.loops.relay import OutboxRelay
from reference_impl.loops.rescuer import LOCK, Rescuer, RescuerOptions
from reference_impl.loops.worker import Worker, WorkerOptions
from reference_impl.metrics import Metrics
from reference_impl.ports import Delivery, Message
from reference_impl.rows import cancellation
from reference_impl.rows.cancellation import Cancelled
from reference_impl.rows.schema import audit, dead_letters, metadata, tasks
from reference_impl.rows.submission import Submission, submit
from reference_impl.runtime import Runtime
from reference_impl.settings import Settings
from reference_impl.task import FINAL, Claim, TaskState
from scenarios.experiment.outside import Ledger, Request
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import Judgement, judge
from scenarios.judging.policy import Policy
from scenarios.record.history import Event, History, Recorded, event_from
from scenarios.systems.reference.rows import LISTS
from tests.unit.reference.reference_world import BEGAN_US, Names, Time

SETTINGS = Settings(
    lease_s=10.0, attempts_max=3, delay_min_s=2.0, sweep_s=1.0, lock_ttl_s=5.0, undelivered_after_s=60.0
)


class Crash(BaseException):
    """The process dies here: nothing above this line may do any I/O on its way out."""


class NeverStops:
    requested = False

    def __init__(self, time: Time) -> None:
        self._time = time

    def wait(self, timeout_s: float) -> bool:
        self._time.pass_(timeout_s)
        return False


class EventList:
    """A recorder that keeps events in memory, on the world's clock."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self.events: list[Event] = []

    def record(self, event: str, *, actor: str, **fields: Any) -> None:
        given = {name: value for name, value in fields.items() if value is not None}
        t_ns = (self._time.now_us - BEGAN_US) * 1000
        self.events.append(event_from({"event": event, "actor": actor, "t_ns": t_ns, **given}))
        self._time.pass_(0.000_001)  # no two events at one instant: every order is a known order


class Watcher:
    """Leases as their holders see them."""

    def __init__(self, record: Callable[..., None], actor: str) -> None:
        self._record = record
        self._actor = actor

    def claimed(self, claim: Claim, ttl_s: float) -> None:
        self._record("lease.acquired", actor=self._actor, resource=_name(claim), fence=claim.fence, ttl_s=ttl_s)

    def claim_renewed(self, claim: Claim, ttl_s: float) -> None:
        self._record("lease.renewed", actor=self._actor, resource=_name(claim), fence=claim.fence, ttl_s=ttl_s)

    def claim_released(self, claim: Claim) -> None:
        self._record("lease.released", actor=self._actor, resource=_name(claim), fence=claim.fence)

    def acknowledging(self, claim: Claim) -> None:
        self._record("ack.invoke", actor=self._actor, task=_name(claim), attempt=claim.attempt)

    def lock_acquired(self, name: str, fence: int, ttl_s: float) -> None:
        self._record("lease.acquired", actor=self._actor, resource=f"lock:{name}", fence=fence, ttl_s=ttl_s)

    def lock_renewed(self, name: str, fence: int, ttl_s: float) -> None:
        self._record("lease.renewed", actor=self._actor, resource=f"lock:{name}", fence=fence, ttl_s=ttl_s)

    def lock_released(self, name: str, fence: int) -> None:
        self._record("lease.released", actor=self._actor, resource=f"lock:{name}", fence=fence)


Plan = Callable[[Attempt], None]
"""What a handler does before its effect: return, raise, or let the world go on in the meantime."""


class EmbeddedWorld:
    """The reference on SQLite and memory, with the lab's outside resource; every method is one thing that can happen."""

    def __init__(self) -> None:
        self.time = Time()
        self._names = Names()
        self._list = EventList(self.time)
        self._ledger = Ledger(self._list)
        self.engine = sqlite_engine("sqlite://", io_timeout_s=1.0, clock_us=self._tick_us, poolclass=StaticPool)
        metadata.create_all(self.engine)
        self.broker = MemoryBroker()
        self.broker.declare(topology(SETTINGS))
        self._cache = MemoryCache(monotonic_s=self.time.monotonic_s)
        self.ids: dict[str, str] = {}
        self._workers = 0
        self.crash_after_settling = False

    # What clients do

    def submit(self, task: str) -> None:
        """A client submits; the same task again is the same key again."""
        self._record("submit.invoke", actor="client", task=task, key=task, user="u")
        submission = Submission("u", "probe", {"task": task}, key=task)
        submitted = submit(
            self.engine, self._names, submission, actor="api", work_queue=SETTINGS.work_queue, payload_bytes_max=1000
        )
        self.ids[task] = submitted.task.id
        self._record("submit.ok", actor="client", task=task, key=task, user="u", id=submitted.task.id)

    def cancel(self, task: str) -> None:
        """A client withdraws a task."""
        self._record("cancel.invoke", actor="client", task=task)
        answer = cancellation.cancel(self.engine, self.ids[task], actor="api")
        ending = {Cancelled.DONE: "cancel.ok", Cancelled.ASKED: "cancel.info"}.get(answer, "cancel.fail")
        self._record(ending, actor="client", task=task)

    # What processes do

    def relay(self) -> int:
        """The relay publishes one batch; how many rows."""
        relay = OutboxRelay(
            self._runtime("relay"),
            self.engine,
            self.broker,
            Metrics(),
            topology(SETTINGS),
            rows_max=10,
            claim_s=30.0,
            confirm_timeout_s=1.0,
            idle_s=0.1,
        )
        return relay.publish_batch(self.broker.open_publisher())

    def waiting_messages(self) -> int:
        """Messages in the work queue."""
        return self.broker.depth(SETTINGS.work_queue)

    def deliver(self, plan: Plan, *, crash_before_ack: bool = False) -> None:
        """A worker of its own takes one message and deals with it; a crash ends it wherever it strikes."""
        self._workers += 1
        actor = f"worker-{self._workers}"
        consumer = self.broker.open_consumer(SETTINGS.work_queue, prefetch=1)
        delivery = consumer.receive(timeout_s=0.0)
        assert delivery is not None, "the caller looked"
        worker = self._worker(actor, plan)
        try:
            worker.handle_delivery(_MortalConsumer(consumer) if crash_before_ack else consumer, delivery)
        except Crash:
            self._record("crash", actor=actor)
        finally:
            consumer.close()  # the broker sees the connection go

    def publish_again(self, task: str) -> None:
        """A relay that died between publish and mark, or a broker that repeats itself: the same message once more."""
        body = b'{"task_id":"' + self.ids[task].encode() + b'"}'
        self.broker.open_publisher().publish([Message("again", SETTINGS.work_queue, body)], timeout_s=0.0)

    def sweep(self) -> None:
        """A rescuer leads once."""
        runtime = self._runtime("rescuer")
        held = lock.acquire(runtime, self.engine, self._cache, LOCK, ttl_s=SETTINGS.lock_ttl_s)
        if held is None:
            return
        options = RescuerOptions(
            SETTINGS.sweep_s,
            100,
            SETTINGS.lock_ttl_s,
            SETTINGS.attempts_max,
            SETTINGS.undelivered_after_s,
            SETTINGS.outbox_kept_s,
        )
        rescuer = Rescuer(runtime, self.engine, self._cache, (), Metrics(), topology(SETTINGS), options)
        assert rescuer.sweep(held), "nobody else leads in this world"
        lock.release(runtime, self._cache, held)

    # What is known afterwards

    def open_tasks(self) -> list[str]:
        """The tasks that have not ended, by name."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(tasks.c.id, tasks.c.status)).all()
        names = {id_: task for task, id_ in self.ids.items()}
        return [names[row.id] for row in rows if TaskState(row.status) not in FINAL]

    def judgement(self, *, ended: bool) -> Judgement:
        """What the judges say of the history so far; `ended`: with the account, as after a calm."""
        events = [*self._list.events, *self._trail()]
        if ended:
            events.append(self._final())
        policy = Policy(attempts_max=SETTINGS.attempts_max, budget_s=10_000.0)
        return judge(Recorded(History(events)), claims=list(Guarantee), policy=policy)

    def _tick_us(self) -> int:
        self.time.pass_(0.000_001)
        return self.time.now_us

    def _record(self, event: str, *, actor: str, **fields: Any) -> None:
        self._list.record(event, actor=actor, **fields)

    def _runtime(self, actor: str) -> Runtime:
        return Runtime(actor, self.time, self._names, NeverStops(self.time), Watcher(self._record, actor))

    def _worker(self, actor: str, plan: Plan) -> Worker:
        options = WorkerOptions(
            1,
            SETTINGS.lease_s,
            SETTINGS.retry_policy,
            SETTINGS.result_bytes_max,
            SETTINGS.progress_expiry_s,
        )
        return Worker(
            self._runtime(actor),
            self.engine,
            self.broker,
            self._cache,
            lambda _: lambda attempt: self._handle(actor, attempt, plan),
            HeldClaims(),
            Metrics(),
            topology(SETTINGS),
            options,
        )

    def _handle(self, actor: str, attempt: Attempt, plan: Plan) -> Mapping[str, object]:
        name = _name(attempt.claim)
        self._record("attempt.start", actor=actor, task=name, attempt=attempt.number)
        try:
            plan(attempt)
            self.effect(attempt, actor)
        except (TransientFailure, PermanentFailure) as error:
            kind = "permanent" if isinstance(error, PermanentFailure) else "transient"
            self._record("attempt.fail", actor=actor, task=name, attempt=attempt.number, error=kind)
            raise
        self._record("attempt.ok", actor=actor, task=name, attempt=attempt.number)
        return {}

    def effect(self, attempt: Attempt, actor: str = "worker") -> None:
        """The task's effect on the outside, with the key and fence that the system hands to its handlers."""
        self._ledger.decide(
            Request(
                op="effect",
                actor=actor,
                task=_name(attempt.claim),
                attempt=attempt.number,
                key=f"{attempt.idempotency_key}:1",
                fence=attempt.fence,
            )
        )

    def _trail(self) -> list[Event]:
        names = {id_: task for task, id_ in self.ids.items()}
        with self.engine.connect() as connection:
            moves = connection.execute(select(audit).order_by(audit.c.id)).all()
            letters = connection.execute(select(dead_letters)).all()
        events = [
            _database_event(
                "state",
                row.at_us,
                task=names[row.task_id],
                to=row.to_status,
                fence=row.fence,
                **({} if row.from_status is None else {"from": row.from_status}),
            )
            for row in moves
        ]
        events += [
            _database_event("dead", row.created_us, task=names[row.task_id], attempts=row.attempts, reason=row.reason)
            for row in letters
        ]
        return events

    def _final(self) -> Event:
        lists: dict[str, list[str]] = {name: [] for name in ("done", "dead", "cancelled", "expired", "pending")}
        names = {id_: task for task, id_ in self.ids.items()}
        with self.engine.connect() as connection:
            for row in connection.execute(select(tasks.c.id, tasks.c.status)):
                lists[LISTS.get(TaskState(row.status), "pending")].append(names[row.id])
        t_ns = (self.time.now_us - BEGAN_US) * 1000
        return event_from({"event": "final", "actor": "lab", "t_ns": t_ns, "healed": True, "caught_up": True, **lists})


class _MortalConsumer:
    """Dies before it can acknowledge."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def ack(self, delivery: Delivery) -> None:
        raise Crash

    def reject(self, delivery: Delivery, *, requeue: bool) -> None:
        raise Crash


def _database_event(event: str, at_us: int, **fields: Any) -> Event:
    return event_from({"event": event, "actor": "database", "t_ns": (at_us - BEGAN_US) * 1000, **fields})


def _name(claim: Claim) -> str:
    return str(claim.task.payload["task"])
