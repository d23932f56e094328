"""The components of a process of any role, and the loops built from them. Independent of any adapter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from reference_impl.extensions import Handler, LeaderJob
from reference_impl.loops.heartbeat import HeldClaims
from reference_impl.loops.relay import OutboxRelay
from reference_impl.loops.rescuer import Rescuer, RescuerOptions
from reference_impl.loops.worker import Worker, WorkerOptions
from reference_impl.metrics import Metrics
from reference_impl.ports import Broker, Cache, Topology
from reference_impl.runtime import Runtime
from reference_impl.settings import Settings

if TYPE_CHECKING:
    from reference_impl.http.service import Api


@dataclass(frozen=True, slots=True)
class ComponentClasses:
    """The classes of the loops and of the API. A variant of the system replaces some of them."""

    relay: type[OutboxRelay] = OutboxRelay
    worker: type[Worker] = Worker
    rescuer: type[Rescuer] = Rescuer
    api: "type[Api] | None" = None  # None: http.service.Api, which only an API process imports


@dataclass(frozen=True, slots=True)
class Components:
    """The components of one process. `bootstrap.assemble` makes them from settings; a simulator makes them directly."""

    settings: Settings
    runtime: Runtime
    engine: Engine
    broker: Broker
    cache: Cache
    metrics: Metrics
    handler_of: Callable[[str], Handler | None]
    leader_jobs: Sequence[LeaderJob] = ()
    classes: ComponentClasses = ComponentClasses()


Patch = Callable[[Components], Components]
"""Makes a variant of the system by replacing components."""


def unpatched(components: Components) -> Components:
    """The patch that changes nothing."""
    return components


def build_api(components: Components) -> "Api":
    """The API of this process, without the HTTP around it."""
    from reference_impl.http.service import Api

    make = components.classes.api or Api
    return make(
        components.runtime,
        components.engine,
        components.broker,
        components.cache,
        components.metrics,
        components.settings,
    )


def topology(settings: Settings) -> Topology:
    """The names and the delivery limit of the queues."""
    return Topology(settings.work_queue, settings.dead_queue, settings.delivery_limit)


def build_relay(components: Components) -> OutboxRelay:
    """The outbox relay of this process."""
    settings = components.settings
    return components.classes.relay(
        components.runtime,
        components.engine,
        components.broker,
        components.metrics,
        topology(settings),
        rows_max=settings.relay_batch,
        claim_s=settings.relay_claim_s,
        confirm_timeout_s=settings.confirm_timeout_s,
        idle_s=settings.relay_idle_s,
    )


def build_worker(components: Components, held: HeldClaims) -> Worker:
    """The worker whose slots run in this process."""
    settings = components.settings
    options = WorkerOptions(
        prefetch=settings.prefetch,
        lease_s=settings.lease_s,
        retry_policy=settings.retry_policy,
        result_bytes_max=settings.result_bytes_max,
        progress_expiry_s=settings.progress_expiry_s,
    )
    return components.classes.worker(
        components.runtime,
        components.engine,
        components.broker,
        components.cache,
        components.handler_of,
        held,
        components.metrics,
        topology(settings),
        options,
    )


def build_rescuer(components: Components) -> Rescuer:
    """The rescuer of this process."""
    settings = components.settings
    options = RescuerOptions(
        sweep_s=settings.sweep_s,
        rows_max=settings.sweep_batch,
        lock_ttl_s=settings.lock_ttl_s,
        attempts_max=settings.attempts_max,
        undelivered_after_s=settings.undelivered_after_s,
        outbox_kept_s=settings.outbox_kept_s,
    )
    return components.classes.rescuer(
        components.runtime,
        components.engine,
        components.cache,
        components.leader_jobs,
        components.metrics,
        topology(settings),
        options,
    )
