"""The database server's clock as an SQL expression: the only clock that decides about leases, delays and deadlines (R24)."""

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

US_PER_S = 1_000_000


class now_us(FunctionElement[int]):  # noqa: N801 — named as an SQL function
    """Microseconds since the Unix epoch when the statement began, by the clock of the database server.

    A statement that waited for a lock therefore sees an instant in the past: it considers a lease valid for slightly too long, and
    renews a lease for slightly too short. Neither lets a second holder in too early.
    """

    type = BigInteger()
    inherit_cache = True
    name = "now_us"


@compiles(now_us, "mysql")
@compiles(now_us, "mariadb")
def _mysql(element: now_us, compiler: SQLCompiler, **options: Any) -> str:
    # Exact: UNIX_TIMESTAMP of a DATETIME(6) is a DECIMAL. The adapter sets the session's time zone to UTC.
    return "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)"


@compiles(now_us, "sqlite")
def _sqlite(element: now_us, compiler: SQLCompiler, **options: Any) -> str:
    return "now_us()"  # a function that the adapter registers on every connection


def microseconds(seconds: float) -> int:
    """A duration in the unit of the database columns."""
    return round(seconds * US_PER_S)
