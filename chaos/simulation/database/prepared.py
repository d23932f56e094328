"""Prepared statements: repeated executions skip the work that SQLAlchemy would repeat with the same result.

A simulated world executes the same few dozen statement objects a hundred thousand times a minute. What SQLAlchemy derives from one (its
text, the order of its parameters, the shape of its rows) depends only on the object and the names of the parameters, so it is kept from
the first execution. Statements for which this does not hold are executed by SQLAlchemy each time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Executable
from sqlalchemy.engine import CursorResult, IteratorResult
from sqlalchemy.engine.cursor import CursorResultMetaData

_KEPT_MAX = 1024
"""Limits memory: a caller may create a new statement object for each execution."""

_Key = tuple[Executable, tuple[object, ...]]
"""A statement, the names of its parameters, and the length of each list among them."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """`values`: the bound values in order. `given`: position of a parameter in them, its name, and its bind processor.

    `listed`: position of a list member, the name of its parameter, and its index in the list.
    """

    sql: str
    values: tuple[Any, ...]
    given: tuple[tuple[int, str, Callable[[Any], Any] | None], ...]
    listed: tuple[tuple[int, str, int], ...]
    shape: Any


_NOTHING: Mapping[str, Any] = {}
_PREPARED: dict[_Key, _Prepared | None] = {}
"""For all worlds; None: executed by SQLAlchemy."""


class PreparedResult(IteratorResult[Any]):
    """Rows that are already fetched; `rowcount`: rows returned, or matched by a write."""

    def __init__(self, shape: Any, rows: Any, rowcount: int) -> None:
        super().__init__(shape, iter(rows))
        self.rowcount = rowcount


class KeptShape(CursorResultMetaData):
    """The shape of a statement's rows. Keeps the reduced shapes that SQLAlchemy computes for `scalars`: they are the same each time."""

    __slots__ = ("_origin", "_reduced")

    def __init__(self, origin: CursorResultMetaData) -> None:
        self._origin = origin
        self._reduced: dict[tuple[Any, ...], CursorResultMetaData] = {}
        for name in CursorResultMetaData.__slots__:
            setattr(self, name, getattr(origin, name))

    def _reduce(self, keys: Sequence[Any]) -> Any:
        columns = tuple(keys)
        reduced = self._reduced.get(columns)
        if reduced is None:
            reduced = self._reduced[columns] = self._origin._reduce(keys)
        return reduced


class PreparedConnection(Connection):
    """SQLAlchemy's connection, with prepared statements shared by all connections."""

    def __init__(self, engine: Engine, *arguments: Any, **options: Any) -> None:
        if not engine._has_events:
            # Without listeners, SQLAlchemy does not have to join those of the engine and of each new connection.
            options.setdefault("_has_events", False)
        super().__init__(engine, *arguments, **options)

    def execute(  # type: ignore[override]
        self, statement: Executable, parameters: Any = None, *, execution_options: Any = None
    ) -> CursorResult[Any] | PreparedResult:
        """Execute a statement, by its prepared form if there is one."""
        if execution_options is not None or not (parameters is None or isinstance(parameters, dict)):
            return super().execute(statement, parameters, execution_options=execution_options)
        given = parameters or _NOTHING
        key = (statement, tuple([(name, len(value)) if type(value) is list else name for name, value in given.items()]))
        prepared, checked_out, transaction = _PREPARED.get(key), self._dbapi_connection, self.get_transaction()
        if prepared is None or checked_out is None or not (transaction is None or transaction.is_active):
            result = super().execute(statement, parameters)
            if key not in _PREPARED:
                _keep(key, result, given)
            return result
        if transaction is None:
            self.begin()
        return self._execute_prepared(prepared, checked_out.dbapi_connection, given)

    def scalar(self, statement: Executable, parameters: Any = None, *, execution_options: Any = None) -> Any:
        """The first column of the first row, or None."""
        return self.execute(statement, parameters, execution_options=execution_options).scalar()

    def _execute_prepared(self, prepared: _Prepared, driver: Any, parameters: Mapping[str, Any]) -> PreparedResult:
        values = list(prepared.values)
        for position, name, process in prepared.given:
            values[position] = parameters[name] if process is None else process(parameters[name])
        for position, name, member in prepared.listed:
            values[position] = parameters[name][member]
        try:
            answer = driver.execute(prepared.sql, values)
        except BaseException as error:  # noqa: BLE001 — SQLAlchemy handles all of them, and always raises
            self._handle_dbapi_exception(error, prepared.sql, values, None, None)
        return PreparedResult(prepared.shape, answer.rows, answer.rowcount)


def _keep(key: _Key, result: CursorResult[Any], given: Mapping[str, Any]) -> None:
    if len(_PREPARED) >= _KEPT_MAX:
        _PREPARED.clear()
    shape = result._metadata
    kept = KeptShape(shape) if type(shape) is CursorResultMetaData else shape
    _PREPARED[key] = _prepared(result.context, given, kept)


def _prepared(context: Any, parameters: Mapping[str, Any], shape: Any) -> _Prepared | None:
    """The prepared form, from the first execution; None: a later execution may differ in more than the parameters' values."""
    compiled = context.compiled
    lists = {bind.key for bind in compiled.post_compile_params if bind.key in parameters}
    processors = compiled._bind_processors
    if (
        compiled.insert_prefetch
        or compiled.update_prefetch
        or any(bind.key in parameters for bind in compiled.literal_execute_params)
        or any(bind.callable is not None for bind in compiled.bind_names)
        or any(type(parameters[key]) is not list or not parameters[key] for key in lists)
        or any(bind.key in lists and name in processors for bind, name in compiled.bind_names.items())
    ):
        return None
    key_of: dict[str, str] = {name: bind.key for bind, name in compiled.bind_names.items()}
    in_lists = context._expanded_parameters
    order = [
        (key_of[name], member, processors.get(name))
        for name in compiled.positiontup
        for member in range(len(in_lists.get(name, (name,))))
    ]
    values = tuple(context.parameters[0])
    assert len(order) == len(values), "each value is bound somewhere"
    bound = [(position, *one) for position, one in enumerate(order) if one[0] in parameters]
    given = tuple((position, key, process) for position, key, _, process in bound if key not in lists)
    listed = tuple((position, key, member) for position, key, member, _ in bound if key in lists)
    return _Prepared(context.statement, values, given, listed, shape)
