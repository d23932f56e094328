"""Connections of Procrastinate in the lab: its connector turned to the lab's PostgreSQL.

Besides the standard library and the other shims it imports Procrastinate and psycopg only, from Python 3.8 on.
"""

import contextlib
import os
from typing import Any, Dict, Iterator, Mapping

import psycopg
import tasklab_adapter
from procrastinate import PsycopgConnector, SyncPsycopgConnector
from psycopg.conninfo import conninfo_to_dict
from tasklab_adapter import UnusableApp
from tasklab_drivers import check_libpq

OF_ADDRESS = ("host", "port", "user", "pass", "dbname", "service", "ssl", "gss", "krb", "channel_binding", "require")
"""How the names of settings begin that say where the server is and how to log in: the lab's replace them."""
TO_OTHERS = ("target_session_attrs", "load_balance_hosts")
"""Settings that choose among several servers: the lab has one."""
VARIABLES = ("PGHOSTADDR", "PGSERVICE", "PGREQUIREAUTH", "PGCHANNELBINDING", "PGTARGETSESSIONATTRS")
"""Variables that libpq would add to the lab's settings."""
CLIENT_TIMEOUT_S = 2
"""How long a client of the lab waits for a connection."""


def checked(connector: Any) -> Any:
    """The connector, if the lab can turn it.

    Raises:
        UnusableApp: it is none of psycopg for asyncio, is open already, or computes its settings when it connects.
    """
    if not isinstance(connector, PsycopgConnector):
        raise UnusableApp(
            "its connector is "
            + tasklab_adapter.a(connector)
            + "; workers need one for asyncio, and the lab can turn a PsycopgConnector to its own PostgreSQL"
        )
    if connector._async_pool is not None or connector._sync_connector is not None:
        raise UnusableApp("its connector is open as soon as the module is imported: open the app when it is used first")
    for name in ("conninfo", "kwargs"):
        if callable(connector._pool_args.get(name)):
            raise UnusableApp(
                "its connector computes " + name + " when it connects; the lab can turn stated settings only"
            )
    return connector


def turn(connector: Any, address: Mapping[str, Any]) -> None:
    """Let the next connections of the connector go to this address, without TLS; all other settings stay."""
    for name in VARIABLES:
        os.environ.pop(name, None)
    connector._pool_args = {
        **connector._pool_args,
        "conninfo": "",
        "kwargs": {**_kept(connector._pool_args), **_login(address)},
    }


def turn_client(connector: Any, address: Mapping[str, Any]) -> None:
    """The same for the lab's client process, whose reads open a connection each: after an outage, pools rest before they try again."""
    turn(connector, address)
    connector._sync_connector = SyncPsycopgConnector(json_dumps=connector._json_dumps, json_loads=connector._json_loads)
    connector._sync_connector.open(FreshConnections(connector))


class FreshConnections:
    """A pool that keeps no connection."""

    def __init__(self, connector: Any) -> None:
        self._connector = connector

    @contextlib.contextmanager
    def connection(self) -> Iterator[Any]:
        """A new connection, closed after its use."""
        with contextlib.closing(connected(self._connector)) as made:
            yield made


def connected(connector: Any) -> Any:
    """A connection of one client to the address that the connector was turned to. Raises psycopg.Error."""
    stated = {**connector._pool_args["kwargs"], "autocommit": True}
    return psycopg.connect(**{"connect_timeout": CLIENT_TIMEOUT_S, **stated})


def _stated(pool_args: Mapping[str, Any]) -> Dict[str, Any]:
    return {**conninfo_to_dict(pool_args.get("conninfo") or ""), **(pool_args.get("kwargs") or {})}


def _kept(pool_args: Mapping[str, Any]) -> Dict[str, Any]:
    stated = _stated(pool_args)
    return {name: value for name, value in stated.items() if not name.startswith(OF_ADDRESS) and name not in TO_OTHERS}


def _login(address: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        "host": address["host"],
        "port": address["port"],
        "user": address["user"],
        "password": address["password"],
        "dbname": address["database"],
        "sslmode": "disable",
        "gssencmode": "disable",
    }


def guard_pools() -> None:
    """Refuse a pool that is opened for any server but the lab's: it would try for 30 s, in threads of its own."""
    open_pool = SyncPsycopgConnector.open

    def guarded_open(self: Any, pool: Any = None) -> None:
        if pool is None and not any(callable(self._pool_args.get(name)) for name in ("conninfo", "kwargs")):
            check_libpq(_stated(self._pool_args))
        open_pool(self, pool)

    SyncPsycopgConnector.open = guarded_open
