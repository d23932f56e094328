"""The migrations over a real server make the tables that the code knows, and can be undone."""

from collections.abc import Callable
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect

from chaos.environment import Services
from reference_impl import migrations
from reference_impl.adapters.mysql import mysql_engine
from reference_impl.migrations import migrate
from reference_impl.rows import schema
from tests.services.mysql.mysql_world import IO_TIMEOUT_S

pytestmark = pytest.mark.services


def alembic(engine: Engine) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["engine"] = engine
    return config


def test_the_migrations_make_what_the_code_knows(engine: Engine) -> None:
    """R1: the same on MySQL and MariaDB as on SQLite."""
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []


def test_every_migration_can_be_undone_and_done_again(provision: Callable[..., Services]) -> None:
    """R1."""
    services = provision()
    assert services.mysql is not None
    engine = mysql_engine(services.mysql.url, pool_size=1, io_timeout_s=IO_TIMEOUT_S)
    migrate(engine)
    command.downgrade(alembic(engine), "base")
    left = set(inspect(engine).get_table_names())

    migrate(engine)

    made = set(inspect(engine).get_table_names())
    engine.dispose()
    assert left == {"alembic_version"}
    assert made == {"alembic_version", *schema.metadata.tables}
