"""The SQL dialect of a simulated database: SQLite's, with MySQL's auto-increment, locking reads and errors."""

from typing import Any

from sqlalchemy.dialects.sqlite.base import SQLiteCompiler, SQLiteDDLCompiler, SQLiteDialect
from sqlalchemy.sql.schema import Column

from chaos.simulation.database import driver
from chaos.simulation.database.statements import FOR_UPDATE, FOR_UPDATE_SKIP_LOCKED


class _Compiler(SQLiteCompiler):
    def for_update_clause(self, select: Any, **options: Any) -> str:
        return FOR_UPDATE_SKIP_LOCKED if select._for_update_arg.skip_locked else FOR_UPDATE


class _DdlCompiler(SQLiteDDLCompiler):
    def get_column_specification(self, column: Column[Any], **options: Any) -> str:
        if column.table is not None and column is column.table.autoincrement_column:
            # Not SQLite's own numbering, which would reuse a number after a rollback.
            return f"{self.preparer.format_column(column)} BIGINT NOT NULL DEFAULT (next_id('{column.table.name}'))"
        specification: str = super().get_column_specification(column, **options)  # type: ignore[no-untyped-call]
        return specification


class SimulatedDialect(SQLiteDialect):
    """SQLite for compilers, MySQL for code that catches errors."""

    driver = "simulated"
    supports_statement_cache = True
    statement_compiler = _Compiler
    ddl_compiler = _DdlCompiler
    insert_returning = update_returning = delete_returning = False

    def __init__(self) -> None:
        super().__init__(dbapi=driver)

    def is_disconnect(self, error: Any, connection: Any, cursor: Any) -> bool:
        """Whether this error means that the connection is lost."""
        return isinstance(error, driver.OperationalError) and error.args[0] in driver.LOST


DIALECT = SimulatedDialect()
"""One for all engines: a statement compiled in one world is reused in the next."""
