"""The database of these tests, its tables, and a wire that a test can cut."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from sqlalchemy import Engine

from chaos.environments.local import LocalEnvironment
from chaos.services.addresses import MysqlAddress
from reference_impl.adapters.mysql import mysql_engine
from reference_impl.migrations import migrate
from reference_impl.rows import schema
from tests.services.mysql.mysql_world import CONTENDERS, IO_TIMEOUT_S
from tests.services.wire import Wire


@pytest.fixture(scope="module")
def address(local: LocalEnvironment) -> MysqlAddress:
    services = local.provision("test_reference_mysql")
    assert services.mysql is not None
    return services.mysql


@pytest.fixture(scope="module")
def migrated(address: MysqlAddress) -> Iterator[Engine]:
    """Making the tables takes the server a second: once for all tests."""
    made = mysql_engine(address.url, pool_size=CONTENDERS, io_timeout_s=IO_TIMEOUT_S)
    migrate(made)
    yield made
    made.dispose()


@pytest.fixture
def engine(migrated: Engine) -> Engine:
    """With empty tables."""
    with migrated.begin() as connection:
        for table in schema.metadata.tables.values():
            connection.execute(table.delete())
    return migrated


@pytest.fixture
def wire(address: MysqlAddress) -> Iterator[Wire]:
    with closing(Wire((address.host, address.port))) as opened:
        yield opened
