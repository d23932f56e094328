"""Statements executed a second time: SQLAlchemy's answer without everything that it would decide exactly as the first time.

A simulated world executes the same few dozen statement objects a hundred thousand times a minute. What SQLAlchemy makes of one (its
text, the order of its parameters, the shape of its rows) depends on the object and on which parameters are given, so it is kept from
the first execution. Whatever is not that simple goes the usual way each time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.engine import CursorResult, IteratorResult

_KEPT_MAX = 1024
"""Statement objects that are made anew for each execution would fill the memory."""

_Key = tuple[Executable, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """`values`: what is bound where, in order; `given`: where in it a parameter goes, which, and what is done to it before."""

    sql: str
    values: tuple[Any, ...]
    given: tuple[tuple[int, str, Callable[[Any], Any] | None], ...]
    shape: Any


_NOTHING: Mapping[str, Any] = {}
_PREPARED: dict[_Key, _Prepared | None] = {}
"""For all worlds; None: goes the usual way."""


class PreparedResult(IteratorResult[Any]):
    """Rows that are there already; `rowcount`: how many were returned, or matched by a write."""

    def __init__(self, shape: Any, rows: Any, rowcount: int) -> None:
        super().__init__(shape, iter(rows))
        self.rowcount = rowcount


class PreparedConnection(Connection):
    """SQLAlchemy's connection, with statements prepared over all connections of the dialect."""

    def execute(  # type: ignore[override]
        self, statement: Executable, parameters: Any = None, *, execution_options: Any = None
    ) -> CursorResult[Any] | PreparedResult:
        """See `Connection.execute`."""
        if execution_options is not None or not (parameters is None or isinstance(parameters, dict)):
            return super().execute(statement, parameters, execution_options=execution_options)
        given = parameters or _NOTHING
        key = (statement, tuple(given))
        prepared, lease, transaction = _PREPARED.get(key), self._dbapi_connection, self.get_transaction()
        if prepared is None or lease is None or not (transaction is None or transaction.is_active):
            result = super().execute(statement, parameters)
            if key not in _PREPARED:
                _keep(key, result)
            return result
        if transaction is None:
            self.begin()
        return self._execute_prepared(prepared, lease.dbapi_connection, given)

    def scalar(self, statement: Executable, parameters: Any = None, *, execution_options: Any = None) -> Any:
        """See `Connection.scalar`."""
        return self.execute(statement, parameters, execution_options=execution_options).scalar()

    def _execute_prepared(self, prepared: _Prepared, driver: Any, parameters: Mapping[str, Any]) -> PreparedResult:
        values = list(prepared.values)
        for position, name, process in prepared.given:
            values[position] = parameters[name] if process is None else process(parameters[name])
        try:
            answer = driver.execute(prepared.sql, values)
        except BaseException as error:  # noqa: BLE001 — SQLAlchemy decides about all of them, and always raises
            self._handle_dbapi_exception(error, prepared.sql, values, None, None)
        return PreparedResult(prepared.shape, answer.rows, answer.rowcount)


def _keep(key: _Key, result: CursorResult[Any]) -> None:
    if len(_PREPARED) >= _KEPT_MAX:
        _PREPARED.clear()
    _PREPARED[key] = _prepared(result.context, frozenset(key[1]), result._metadata)


def _prepared(context: Any, names: frozenset[str], shape: Any) -> _Prepared | None:
    """What the first execution has shown; None: a later one may differ in more than in the values of its parameters."""
    compiled = context.compiled
    expanded = compiled.post_compile_params | compiled.literal_execute_params
    if (
        compiled.insert_prefetch
        or compiled.update_prefetch
        or any(bind.key in names for bind in expanded)
        or any(bind.callable is not None for bind in compiled.bind_names)
    ):
        return None
    key_of = {name: bind.key for bind, name in compiled.bind_names.items()}
    values = tuple(context.parameters[0])
    in_lists = context._expanded_parameters
    order = [one for name in compiled.positiontup for one in in_lists.get(name, (name,))]
    assert len(order) == len(values), "each value is bound somewhere"
    processors = compiled._bind_processors
    given = tuple(
        (position, key_of[name], processors.get(name))
        for position, name in enumerate(order)
        if key_of.get(name) in names
    )
    return _Prepared(context.statement, values, given, shape)
