"""Assembles the components of a process from its settings. The only module that chooses adapters."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sqlalchemy import Engine, make_url
from sqlalchemy.exc import ArgumentError

from reference_impl.adapters.system import ShutdownEvent, SystemClock, SystemEntropy
from reference_impl.components import Components
from reference_impl.extensions import Handler, Observer
from reference_impl.metrics import Metrics
from reference_impl.ports import Broker, Cache
from reference_impl.runtime import Runtime
from reference_impl.settings import Settings, SettingsInvalid

T = TypeVar("T")


def assemble(settings: Settings, shutdown: ShutdownEvent, *, role: str) -> Components:
    """The components of a process of this role. Makes no connection yet.

    Raises:
        SettingsInvalid: an address is invalid, or package.module:attribute cannot be loaded.
    """
    entropy = SystemEntropy()
    name = settings.name or f"{role}-{entropy.identifier()}"
    runtime = Runtime(name, SystemClock(), entropy, shutdown, _observer(settings.observer))
    return Components(
        settings=settings,
        runtime=runtime,
        engine=_open("database_url", lambda: open_database(settings)),
        broker=_open("broker_url", lambda: _open_broker(settings, name)),
        cache=_open("cache_url or sentinels", lambda: _open_cache(settings)),
        metrics=Metrics(),
        handler_of=_handlers(settings.handlers),
        leader_jobs=_load(settings.leader_jobs) if settings.leader_jobs else (),
    )


def _open(setting: str, open_: Callable[[], T]) -> T:
    try:
        return open_()
    except (ValueError, ArgumentError, ImportError) as error:
        # Neither the address nor the driver's message: both may contain a password.
        raise SettingsInvalid(f"{setting} is not an address of a supported kind ({type(error).__name__})") from error


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

    sentinels = [address.rsplit(":", 1) for address in settings.sentinels.split(",") if address]
    return redis_cache(
        settings.cache_url,
        sentinels=[(host, int(port)) for host, port in sentinels],
        primary_name=settings.sentinel_primary,
        prefix=settings.prefix,
        io_timeout_s=settings.io_timeout_s,
    )


def _handlers(address: str) -> Callable[[str], Handler | None]:
    if not address:
        return lambda _: None
    handlers: Mapping[str, Handler] | Handler = _load(address)
    if isinstance(handlers, Mapping):
        return handlers.get
    return lambda _: handlers


def _observer(address: str) -> Observer:
    return _load(address) if address else Observer()


def _load(address: str) -> Any:
    """The object at `package.module:attribute`."""
    module, _, attribute = address.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ValueError, ImportError, AttributeError) as error:
        raise SettingsInvalid(f"{address!r} cannot be loaded as package.module:attribute: {error}") from error
