"""The operations of a Jepsen history: `process`, `type`, `f`, `value` and, optionally, `index`, `time`, `key`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from scenarios.judging.jepsen.edn import MalformedEdn, Tagged, read_all

Kind = Literal["invoke", "ok", "fail", "info"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One line of a Jepsen history. `process` is None for the nemesis; `time_ns` is 0 if the history has no times."""

    process: int | None
    kind: Kind
    f: str
    value: Any
    index: int
    time_ns: int
    key: Any = None


class MalformedHistory(ValueError):
    """This is not a Jepsen history; the message says where and why."""


def read_operations(content: bytes) -> list[Operation]:
    """The operations of a history in JSON or EDN: lines, a list, or an object with the list as `history`.

    Raises:
        MalformedHistory: neither, or an operation without process, type or f.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise MalformedHistory(f"not UTF-8: {error}") from error
    return operations_from(_parsed(text))


def operations_from(entries: Iterable[Any]) -> list[Operation]:
    """The operations of already parsed entries; raises `MalformedHistory`."""
    return [_operation(entry, index) for index, entry in enumerate(entries)]


def _parsed(text: str) -> Iterator[Any]:
    """JSON if the text is JSON, else EDN; a history that is both has the same meaning in both."""
    try:
        whole = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    else:
        yield from _entries(whole)
        return
    try:
        yield from [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
    except (msgspec.DecodeError, RecursionError):
        yield from _edn(text)


def _edn(text: str) -> Iterator[Any]:
    try:
        forms = list(read_all(text))
    except MalformedEdn as error:
        raise MalformedHistory(f"neither JSON nor EDN: {error}") from error
    yield from (_entries(forms[0]) if len(forms) == 1 else forms)


def _entries(whole: Any) -> list[Any]:
    if isinstance(whole, dict) and "history" in whole:
        whole = whole["history"]
    if isinstance(whole, dict):
        return [whole]
    if not isinstance(whole, list):
        raise MalformedHistory("a history is a list of operations")
    return whole


def _operation(entry: Any, index: int) -> Operation:
    if not isinstance(entry, dict):
        raise MalformedHistory(f"operation {index} is not a map")
    kind, f, process = entry.get("type"), entry.get("f"), entry.get("process")
    if kind not in ("invoke", "ok", "fail", "info"):
        raise MalformedHistory(f"operation {index} is of type {kind!r}, not invoke, ok, fail or info")
    if not isinstance(f, str):
        raise MalformedHistory(f"operation {index} has no f")
    stated_index, time_ns = entry.get("index"), entry.get("time")
    value, key = entry.get("value"), entry.get("key")
    if isinstance(value, Tagged) and isinstance(value[1], list) and len(value[1]) == 2:
        key, value = value[1]  # an independent tuple: the key that the operation is about, and its value
    return Operation(
        process if isinstance(process, int) and not isinstance(process, bool) else None,
        kind,
        f,
        value,
        stated_index if isinstance(stated_index, int) else index,
        time_ns if isinstance(time_ns, int) else 0,
        key,
    )


def hashable(value: Any) -> Any:
    """The value in a hashable form: lists as tuples, maps as tuples of their items."""
    if isinstance(value, list):
        return tuple(map(hashable, value))
    if isinstance(value, dict):
        return tuple(sorted(((str(name), hashable(one)) for name, one in value.items()), key=repr))
    return value
