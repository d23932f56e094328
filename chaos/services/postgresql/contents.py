"""Every row of every table of a run's PostgreSQL database."""

import json
from collections.abc import Iterator
from typing import Any

from chaos.errors import ServiceUnavailable
from chaos.services.addresses import PostgresqlAddress
from chaos.services.contents import CONTENTS_MAX, TIMEOUT_S, ServiceItem
from chaos.services.postgresql.client import ERRORS, connected, words

TABLES = """
SELECT n.nspname, c.relname, format('%I.%I', n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
ORDER BY 1, 2
"""
"""Schema and name of each table, and both quoted; a partitioned table by its partitions, which hold the rows."""


def read_contents(address: PostgresqlAddress) -> Iterator[ServiceItem]:
    """Table by table, each row as JSON; of a large table the first `CONTENTS_MAX` rows.

    Raises:
        ServiceUnavailable: the server does not answer.
    """
    try:
        with connected(address, TIMEOUT_S) as connection:
            for schema, table, quoted in connection.run(TABLES):
                place = f"postgresql table {table if schema == 'public' else f'{schema}.{table}'}"
                rows = connection.run(f"SELECT * FROM {quoted} LIMIT {CONTENTS_MAX}")  # noqa: S608
                names = [column["name"] for column in connection.columns or ()]
                for row in rows:
                    fields = dict(zip(names, row, strict=True))
                    yield ServiceItem(place, json.dumps(fields, default=_plain, ensure_ascii=False))
    except ERRORS as error:
        raise ServiceUnavailable("postgresql", f"its rows cannot be read: {words(error)}") from error


def _plain(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
