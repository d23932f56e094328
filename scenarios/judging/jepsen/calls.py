"""Turns the operations of a Jepsen history into calls, for the linearizability checker."""

from collections.abc import Mapping, Sequence

from scenarios.judging.jepsen.operations import MalformedHistory, Operation, hashable
from scenarios.judging.linearizability.search import FOREVER, Call, CasRegister, Model, Mutex, Register

MODELS: Mapping[str, tuple[Model, frozenset[str]]] = {
    "register": (Register(), frozenset({"read", "write"})),
    "cas-register": (CasRegister(), frozenset({"read", "write", "cas"})),
    "mutex": (Mutex(), frozenset({"acquire", "release"})),
}
"""The models by name, each with its functions."""


def calls_of(history: Sequence[Operation], functions: frozenset[str]) -> list[Call]:
    """The calls of clients, timed by their position in the history, without failed operations and unanswered reads.

    Raises:
        MalformedHistory: an operation unknown to the model, a `cas` without two values, an end without an invocation.
    """
    open_calls: dict[int, tuple[int, Operation]] = {}
    calls = []
    for place, op in enumerate(history):
        if op.process is None:
            continue
        if op.f not in functions:
            raise MalformedHistory(f"operation {op.index}: the model has no {op.f!r}")
        if op.kind == "invoke":
            if op.process in open_calls:
                calls.extend(_unanswered(*open_calls[op.process]))
            open_calls[op.process] = (place, op)
            continue
        begun = open_calls.pop(op.process, None)
        if begun is None:
            raise MalformedHistory(f"operation {op.index} ends an operation that process {op.process} had not begun")
        called, invoked = begun
        if op.kind == "ok":
            value = op.value if op.f == "read" or invoked.value is None else invoked.value
            calls.append(Call(op.f, _value(op, value), called, place, key=hashable(invoked.key)))
        elif op.kind == "info":
            calls.extend(_unanswered(called, invoked))
    for called, invoked in open_calls.values():
        calls.extend(_unanswered(called, invoked))
    return calls


def _unanswered(called: int, invoked: Operation) -> list[Call]:
    if invoked.f == "read":
        return []
    value = _value(invoked, invoked.value)
    return [Call(invoked.f, value, called, FOREVER, is_known=False, key=hashable(invoked.key))]


def _value(op: Operation, value: object) -> object:
    hashed = hashable(value)
    if op.f == "cas" and not (isinstance(hashed, tuple) and len(hashed) == 2):
        raise MalformedHistory(f"operation {op.index}: a cas needs the old value and the new one")
    return hashed
