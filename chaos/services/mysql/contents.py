"""Every row of every table of a run's database."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pymysql

from chaos.errors import ServiceUnavailable
from chaos.services.addresses import MysqlAddress
from chaos.services.contents import CONTENTS_MAX, TIMEOUT_S, ServiceItem
from chaos.services.mysql import server


def read_contents(address: MysqlAddress) -> Iterator[ServiceItem]:
    """Table by table, each row as JSON; of a large table the first `CONTENTS_MAX` rows.

    Raises:
        ServiceUnavailable: the server does not answer.
    """
    try:
        with closing(server.connect(address, TIMEOUT_S)) as connection:
            connection.select_db(address.database)
            with connection.cursor() as cursor:
                cursor.execute("SHOW TABLES")
                tables = [str(row[0]) for row in cursor.fetchall()]
            for table in tables:
                with connection.cursor(pymysql.cursors.DictCursor) as rows:
                    quoted = table.replace("`", "``")  # a name cannot be a parameter
                    rows.execute(f"SELECT * FROM `{quoted}` LIMIT {CONTENTS_MAX}")  # noqa: S608
                    for row in rows.fetchall():
                        yield ServiceItem(f"mysql table {table}", json.dumps(row, default=_plain, ensure_ascii=False))
    except pymysql.MySQLError as error:
        raise ServiceUnavailable("mysql", f"its rows cannot be read: {error}") from error


def _plain(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
