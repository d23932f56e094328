"""The reference's own code on simulated ports: its loops in fibers, its API without the HTTP around it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

from sqlalchemy import Engine

from chaos.simulation.database.dialect import DIALECT
from chaos.simulation.database.statements import Tables
from chaos.simulation.world import Bounds, Loop, Ports, ProcessPlan
from reference_impl.components import Components, Patch, build_api, unpatched
from reference_impl.errors import BrokerConnectionLost, BrokerUnavailable, CacheUnavailable, ReferenceSystemError
from reference_impl.extensions import Handler
from reference_impl.http.models import NewTask
from reference_impl.http.service import Api, status_of
from reference_impl.ports import Broker, Cache, PublishOutcome
from reference_impl.roles import loops_of
from reference_impl.rows.cancellation import Cancelled
from reference_impl.rows.dead_letter import open_letters
from reference_impl.rows.schema import metadata
from reference_impl.rows.transactions import read
from reference_impl.runtime import Runtime
from reference_impl.settings import Settings
from scenarios.contract.probe import Probe
from scenarios.contract.system import Account, Cancel, Operation, Outcome, ReadStatus, Redrive, Submit
from scenarios.contract.tasklab_probe import TaskError
from scenarios.record.history import Event
from scenarios.simulated.inspection import Inspection
from scenarios.simulated.system import MakeProbe, Sizes, Terms
from scenarios.systems.reference.counted import WorldMetrics
from scenarios.systems.reference.defects import NEW, defects
from scenarios.systems.reference.probe import LeaseRecorder, handler, leader_job
from scenarios.systems.reference.rows import account_of, trail_of, work_left_of
from scenarios.systems.reference.terms import (
    BUDGET_S,
    CAPABILITIES,
    CLAIMS,
    JITTER_MAX,
    LAB,
    NEVER_S,
    RESERVATIONS,
    REST_ON,
    has_safety_net,
    pace_of,
    policy_of,
    replace_settings,
)

SIMULATED = replace_settings(
    LAB,
    lease_s=1.0,
    heartbeat_s=0.25,
    relay_batch=2,
    relay_idle_s=0.1,
    confirm_timeout_s=1.0,
    relay_claim_s=1.5,
    io_timeout_s=1.0,
    sweep_s=0.4,
    lock_ttl_s=1.0,
    sweep_batch=2,
    undelivered_after_s=4.0,
    handlers="",
    leader_jobs="",
    observer="",
)
"""As in the lab, with shorter durations (each margin kept) but longer pauses of idle loops: simulated time is free, polling is not."""

LETTERS_MAX = 1000
TIDYING_KEPT_S = 3.0
"""Longer than a relay's claim and shorter than a world, so that rows are deleted while tasks still run."""

METRICS = WorldMetrics()


@cache
def _tables() -> Tables:
    return Tables(metadata, DIALECT)


class ReferenceErrorFactory:
    """The reference's own errors and outcomes, for the simulated services."""

    def unavailable(self, why: str) -> Exception:
        """Nothing was sent to the broker."""
        return BrokerUnavailable(why)

    def connection_lost(self, why: str) -> Exception:
        """The connection to the broker broke during an operation."""
        return BrokerConnectionLost(why)

    def outcome(self, name: str) -> PublishOutcome:
        """The publish outcome of this name."""
        return PublishOutcome(name)

    def cache_unavailable(self, why: str) -> Exception:
        """The cache did not answer."""
        return CacheUnavailable(why)


@dataclass(frozen=True, slots=True)
class ReferenceSimulation:
    """The reference, or the variant that `patch` makes of it."""

    settings: Settings = SIMULATED
    patch: Patch = unpatched
    net_off: str = ""
    errors: ReferenceErrorFactory = field(default_factory=ReferenceErrorFactory)

    @property
    def bounds(self) -> Bounds:
        """Time-out and pool size, from the settings."""
        return Bounds(self.settings.io_timeout_s, self.settings.pool_size)

    @property
    def terms(self) -> Terms:
        """As on real services, for these settings."""
        settings = self.settings
        has_net = has_safety_net(settings)
        return Terms(
            CLAIMS - REST_ON.get(self.net_off, frozenset()),
            policy_of(settings),
            pace_of(settings),
            RESERVATIONS,
            stands_forgotten_queues=has_net,
            capabilities=CAPABILITIES,
        )

    def without(self, net: str) -> "ReferenceSimulation":
        """The same with one safety net off; the sweep of undelivered tasks is the reference's own."""
        settings = replace_settings(self.settings, undelivered_after_s=NEVER_S) if net == "sweep" else self.settings
        return replace(self, settings=settings, net_off=net)

    def tables(self) -> Tables:
        """The reference's schema."""
        return _tables()

    def processes(self, sizes: Sizes, make_probe: MakeProbe) -> Sequence[ProcessPlan]:
        """API, relay, workers and rescuers, in these numbers."""
        METRICS.begin()
        counts = {"api": sizes.apis, "relay": sizes.relays, "worker": sizes.workers, "rescuer": sizes.rescuers}
        settings = replace_settings(self.settings, worker_slots=sizes.slots)
        return [
            ProcessPlan(f"{role}-{number}", role, self._entry(role, settings, make_probe))
            for role, count in counts.items()
            for number in range(1, count + 1)
        ]

    def serve(self, server: Any, operation: Operation) -> Outcome:
        """Call the API; the outcome is what `HttpClient` makes of the HTTP response."""
        try:
            return _serve(server, operation)
        except ReferenceSystemError as error:
            code = status_of(error)
            surely_not = code < 500 or error.definite
            return Outcome("fail" if surely_not else "info", detail=f"{code} {error}"[:200])
        except Exception as error:  # noqa: BLE001 — an HTTP server answers 500 and goes on
            return Outcome("info", detail=f"500 {error!r}"[:200])

    def account(self, engine: Engine) -> Account:
        """The tasks by state, from their rows."""
        with engine.connect() as connection:
            return account_of(connection)

    def tidying(self) -> "ReferenceSimulation":
        """The same, except that the rows of sent messages are soon deleted."""
        return replace(self, settings=replace_settings(self.settings, outbox_kept_s=TIDYING_KEPT_S))

    @property
    def rests_within_s(self) -> float:
        """A message waits for its retry, is sent, and its row is kept and then deleted; and what a fault has broken is repaired first."""
        settings = self.settings
        return settings.delay_max_s * (1 + JITTER_MAX) + settings.outbox_kept_s + BUDGET_S

    def work_left(self, engine: Engine) -> Sequence[str]:
        """The rows of the outbox that are not sent, or not deleted."""
        with engine.connect() as connection:
            return work_left_of(connection)

    def trail(self, engine: Engine, epoch_ns: int) -> Sequence[Event]:
        """The audit rows and the dead letters."""
        with engine.connect() as connection:
            return trail_of(connection, epoch_ns)

    def defects(self, inspection: Inspection) -> Sequence[str]:
        """What the reference never does, whatever the faults."""
        return defects(inspection, self.settings, METRICS.settled())

    def components(self, ports: Ports, settings: Settings, probe: Probe) -> Components:
        """The components of one process."""
        runtime = Runtime(ports.name, ports.clock, ports.entropy, ports.stop, LeaseRecorder(lambda: probe))
        handle = cast(Handler, handler(lambda: probe, TaskError))
        components = Components(
            settings=settings,
            runtime=runtime,
            engine=ports.engine,
            broker=cast(Broker, ports.broker),
            cache=cast(Cache, ports.cache),
            metrics=METRICS.present,
            handler_of=lambda _: handle,
            leader_jobs=(leader_job(lambda: probe),),
        )
        return self.patch(components)

    def _entry(
        self, role: str, settings: Settings, make_probe: MakeProbe
    ) -> Callable[[Ports], tuple[Sequence[Loop], object]]:
        def enter(ports: Ports) -> tuple[Sequence[Loop], object]:
            components = self.components(ports, settings, make_probe(ports.name))
            if role == "api":
                return (), build_api(components)
            working, serving = loops_of(role, components, components.runtime.shutdown)
            return [*working, *serving], None

        return enter


def _serve(api: Api, operation: Operation) -> Outcome:
    match operation:
        case Submit():
            new = NewTask(
                user_id=operation.user,
                type="probe",
                payload=dict(operation.payload),
                deadline_s=operation.deadline_s,
            )
            submitted = api.submit(new, key=operation.key, trace_id=None)
            detail = NEW if submitted.created else None
            return Outcome("ok", id=submitted.task.id, state=submitted.task.status, detail=detail)
        case ReadStatus():
            view = api.read(operation.id)
            if view is None:
                return Outcome("fail", detail="404 no such task")
            percent = (view.progress or {}).get("percent")
            return Outcome(
                "ok",
                id=view.id,
                state=view.status,
                percent=None if percent is None else float(percent),
                result=(view.result or {}).get("result"),
            )
        case Cancel():
            answer, task = api.cancel(operation.id)
            if answer is Cancelled.NOT_FOUND or task is None:
                return Outcome("fail", detail="404 no such task")
            if answer is Cancelled.TOO_LATE:
                return Outcome("fail", detail=f"409 the task has ended: {task.status}")
            return Outcome("ok" if answer is Cancelled.DONE else "info", id=task.id, state=task.status)
        case Redrive():
            letters = read(api.engine, lambda connection: open_letters(connection, rows_max=LETTERS_MAX))
            letter = next((one.id for one in letters if one.task_id == operation.id), 0)
            return Outcome("ok") if letter and api.redrive(letter) else Outcome("fail", detail="404 no such letter")
    return Outcome("fail", detail=f"400 this API has no {type(operation).__name__}")
