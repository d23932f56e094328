"""The schema's history (Alembic), the same on MySQL, MariaDB and SQLite."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine


def migrate(engine: Engine) -> None:
    """Upgrade the database to the current schema. Idempotent; run it from one process at a time."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["engine"] = engine
    command.upgrade(config, "head")
