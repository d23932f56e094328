"""The schema that migrations make is the one that the code knows; up and down, and up again."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect

from reference_impl import migrations
from reference_impl.adapters.sqlite import sqlite_engine
from reference_impl.migrations import migrate
from reference_impl.rows.schema import metadata


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = sqlite_engine(f"sqlite:///{tmp_path / 'empty.db'}", io_timeout_s=5.0)
    yield made
    made.dispose()


def alembic(engine: Engine) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["engine"] = engine
    return config


def test_the_migrations_make_what_the_code_knows(engine: Engine) -> None:
    """R1."""
    migrate(engine)

    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_migrating_again_changes_nothing(engine: Engine) -> None:
    migrate(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO fences (name, fence, owner) VALUES ('a', 1, 'x')")

    migrate(engine)

    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT name FROM fences").all() == [("a",)]


def test_every_migration_can_be_undone_and_done_again(engine: Engine) -> None:
    """R1."""
    config = alembic(engine)
    migrate(engine)
    command.downgrade(config, "base")
    left = set(inspect(engine).get_table_names())

    migrate(engine)

    assert left == {"alembic_version"}
    assert set(inspect(engine).get_table_names()) == {"alembic_version", *metadata.tables}


def test_there_is_one_line_of_migrations(engine: Engine) -> None:
    script = ScriptDirectory.from_config(alembic(engine))

    assert len(script.get_heads()) == 1
    assert len(script.get_bases()) == 1


def test_a_migration_that_breaks_half_way_is_undone(engine: Engine) -> None:
    """R29: where the database can undo definitions; MySQL cannot."""
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE tasks (id TEXT)")  # the last that the migration would make

    with pytest.raises(Exception, match="already exists") as failure:
        migrate(engine)

    assert isinstance(failure.value.__cause__, sqlite3.OperationalError)
    assert set(inspect(engine).get_table_names()) <= {"alembic_version", "tasks"}
