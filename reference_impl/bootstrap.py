"""Puts the system together from its settings: the only place that chooses adapters."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Engine, make_url
from sqlalchemy.exc import ArgumentError

from reference_impl.adapters.system import StopEvent, SystemClock, SystemEntropy
from reference_impl.loops.lease import HeldClaims
from reference_impl.loops.relay import Relay
from reference_impl.loops.rescuer import Rescuer, RescuerOptions
from reference_impl.loops.worker import Worker, WorkerOptions
from reference_impl.metrics import Metrics
from reference_impl.ports import Broker, Cache, Handler, LeaderJob, Observer, Runtime, Topology
from reference_impl.settings import Settings, SettingsInvalid

if TYPE_CHECKING:
    from reference_impl.http.service import Api

T = TypeVar("T")


class Unobserved:
    """Nobody watches."""

    def claimed(self, claim: object, ttl_s: float) -> None:
        """See ports.Observer."""

    def claim_renewed(self, claim: object, ttl_s: float) -> None:
        """See ports.Observer."""

    def claim_released(self, claim: object) -> None:
        """See ports.Observer."""

    def acknowledging(self, claim: object) -> None:
        """See ports.Observer."""

    def lock_acquired(self, name: str, fence: int, ttl_s: float) -> None:
        """See ports.Observer."""

    def lock_renewed(self, name: str, fence: int, ttl_s: float) -> None:
        """See ports.Observer."""

    def lock_released(self, name: str, fence: int) -> None:
        """See ports.Observer."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The classes that the loops are made of: a variant of the system puts its own in their place."""

    relay: type[Relay] = Relay
    worker: type[Worker] = Worker
    rescuer: type[Rescuer] = Rescuer
    api: "type[Api] | None" = None  # None: endpoints.Api, which only an API process imports


@dataclass(frozen=True, slots=True)
class Parts:
    """What one process is made of, whatever its role. Whoever has other seams than `assemble` chooses makes it directly."""

    settings: Settings
    runtime: Runtime
    engine: Engine
    broker: Broker
    cache: Cache
    metrics: Metrics
    handler_of: Callable[[str], Handler | None]
    leader_jobs: Sequence[LeaderJob] = ()
    kinds: Kinds = Kinds()


def assemble(settings: Settings, stop: StopEvent, *, role: str) -> Parts:
    """The parts for a process of that role; connects to nothing yet.

    Raises:
        SettingsInvalid: an address is none, or a place in the code names nothing.
    """
    entropy = SystemEntropy()
    name = settings.name or f"{role}-{entropy.identifier()}"
    runtime = Runtime(name, SystemClock(), entropy, stop, _observer(settings.observer))
    return Parts(
        settings=settings,
        runtime=runtime,
        engine=_opened("database_url", lambda: open_database(settings)),
        broker=_opened("broker_url", lambda: _open_broker(settings, name)),
        cache=_opened("cache_url or sentinels", lambda: _open_cache(settings)),
        metrics=Metrics(),
        handler_of=_handlers(settings.handlers),
        leader_jobs=_load(settings.leader_jobs) if settings.leader_jobs else (),
    )


def _opened(setting: str, open_: Callable[[], T]) -> T:
    try:
        return open_()
    except (ValueError, ArgumentError, ImportError) as error:
        # Not the address itself, nor what the driver says of it: there is a password in it.
        raise SettingsInvalid(f"{setting} is no address of a kind that can be used ({type(error).__name__})") from error


def build_api(parts: Parts) -> "Api":
    """What the endpoints of this process work with."""
    from reference_impl.http.service import Api

    make = parts.kinds.api or Api
    return make(parts.runtime, parts.engine, parts.broker, parts.cache, parts.metrics, parts.settings)


def open_database(settings: Settings) -> Engine:
    """The engine for `database_url`."""
    if make_url(settings.database_url).get_backend_name() == "sqlite":
        from reference_impl.adapters.sqlite import sqlite_engine

        return sqlite_engine(settings.database_url, io_timeout_s=settings.io_timeout_s)
    from reference_impl.adapters.mysql import mysql_engine

    return mysql_engine(settings.database_url, pool_size=settings.pool_size, io_timeout_s=settings.io_timeout_s)


def _open_broker(settings: Settings, name: str) -> Broker:
    if settings.broker_url == "memory:":
        from reference_impl.adapters.memory import MemoryBroker

        return MemoryBroker()
    from reference_impl.adapters.rabbitmq import RabbitBroker

    return RabbitBroker(settings.broker_url, name, io_timeout_s=settings.io_timeout_s)


def _open_cache(settings: Settings) -> Cache:
    if settings.cache_url == "memory:":
        from reference_impl.adapters.memory import MemoryCache

        return MemoryCache()
    from reference_impl.adapters.redis import redis_cache

    watchers = [address.rsplit(":", 1) for address in settings.sentinels.split(",") if address]
    return redis_cache(
        settings.cache_url,
        sentinels=[(host, int(port)) for host, port in watchers],
        primary_name=settings.sentinel_primary,
        prefix=settings.prefix,
        io_timeout_s=settings.io_timeout_s,
    )


def topology(settings: Settings) -> Topology:
    """The queues."""
    return Topology(settings.work_queue, settings.dead_queue, settings.delivery_limit)


def build_relay(parts: Parts) -> Relay:
    """The outbox relay of this process."""
    settings = parts.settings
    return parts.kinds.relay(
        parts.runtime,
        parts.engine,
        parts.broker,
        parts.metrics,
        topology(settings),
        rows_max=settings.relay_batch,
        claim_s=settings.relay_claim_s,
        confirm_timeout_s=settings.confirm_timeout_s,
        idle_s=settings.relay_idle_s,
    )


def build_worker(parts: Parts, held: HeldClaims) -> Worker:
    """What the slots of this worker process share."""
    settings = parts.settings
    options = WorkerOptions(
        prefetch=settings.prefetch,
        lease_s=settings.lease_s,
        retry_policy=settings.retry_policy,
        result_bytes_max=settings.result_bytes_max,
        progress_expiry_s=settings.progress_expiry_s,
    )
    return parts.kinds.worker(
        parts.runtime,
        parts.engine,
        parts.broker,
        parts.cache,
        parts.handler_of,
        held,
        parts.metrics,
        topology(settings),
        options,
    )


def build_rescuer(parts: Parts) -> Rescuer:
    """The rescuer of this process."""
    settings = parts.settings
    options = RescuerOptions(
        sweep_s=settings.sweep_s,
        rows_max=settings.sweep_batch,
        lock_ttl_s=settings.lock_ttl_s,
        attempts_max=settings.attempts_max,
        undelivered_after_s=settings.undelivered_after_s,
        outbox_kept_s=settings.outbox_kept_s,
    )
    return parts.kinds.rescuer(
        parts.runtime, parts.engine, parts.cache, parts.leader_jobs, parts.metrics, topology(settings), options
    )


def _handlers(place: str) -> Callable[[str], Handler | None]:
    if not place:
        return lambda _: None
    handlers: Mapping[str, Handler] | Handler = _load(place)
    if isinstance(handlers, Mapping):
        return handlers.get
    return lambda _: handlers


def _observer(place: str) -> Observer:
    return _load(place) if place else Unobserved()


def _load(place: str) -> Any:
    """What `package.module:attribute` names."""
    module, _, attribute = place.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ValueError, ImportError, AttributeError) as error:
        raise SettingsInvalid(f"{place!r} is no package.module:attribute that can be loaded: {error}") from error
