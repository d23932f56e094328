"""A table of a TOML file whose values are checked as they are read: an error names the file, the key, and what it must be. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from scenarios.errors import MalformedConfiguration, MalformedStatement, PluginFailed, UnknownName, nearest
from scenarios.plugin.statements import SECONDS_MAX

T = TypeVar("T")
VALUE_CHARS = 80


@dataclass(frozen=True, slots=True)
class ValueKind(Generic[T]):
    """What a value must be: in words, and as a predicate."""

    words: str
    accepts: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole(least: int, most: int) -> ValueKind[int]:
    """A whole number in this range."""
    return ValueKind(
        f"a whole number from {least} to {most:,}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most,
    )


def one_of(names: Collection[str]) -> ValueKind[str]:
    """One of these texts."""
    return ValueKind(
        " or ".join(f'"{name}"' for name in names), lambda value: isinstance(value, str) and value in names
    )


TEXT: ValueKind[str] = ValueKind("a text that is not empty", lambda value: _is_text(value) and bool(value))
TEXTS: ValueKind[list[str]] = ValueKind(
    "a list of texts", lambda value: isinstance(value, list) and all(map(_is_text, value))
)
COMMAND: ValueKind[list[str]] = ValueKind(
    "a list of texts: a program and its arguments", lambda value: TEXTS.accepts(value) and bool(value and value[0])
)
FLAG: ValueKind[bool] = ValueKind("true or false", lambda value: isinstance(value, bool))
SECONDS: ValueKind[float] = ValueKind(
    f"a number of seconds above 0, at most {SECONDS_MAX:,.0f}",
    lambda value: _is_number(value) and 0 < value <= SECONDS_MAX,
)
TEXT_TABLE: ValueKind[Mapping[str, str]] = ValueKind(
    "a table of texts", lambda value: isinstance(value, dict) and all(map(_is_text, value.values()))
)
TEXTS_TABLE: ValueKind[Mapping[str, list[str]]] = ValueKind(
    "a table of lists of texts", lambda value: isinstance(value, dict) and all(map(TEXTS.accepts, value.values()))
)
TABLE: ValueKind[Mapping[str, Any]] = ValueKind("a table", lambda value: isinstance(value, dict))


@dataclass(frozen=True, slots=True)
class Table:
    """A table at `path` (dotted, "" for the whole file) of `file`."""

    file: str
    path: str
    values: Mapping[str, Any]

    def only(self, known: Collection[str]) -> None:
        """Raise MalformedConfiguration for the first key that is not known."""
        for key in self.values:
            if key not in known:
                hint = " or ".join(nearest(key, known)) or ", ".join(known)
                raise MalformedConfiguration(self.file, f"there is no key {self.key(key)}; did you mean {hint}?")

    def read(self, key: str, kind: ValueKind[T]) -> T | None:
        """The value of a key; None: there is no such key.

        Raises:
            MalformedConfiguration: the value is of another kind.
        """
        if key not in self.values:
            return None
        value = self.values[key]
        if not kind.accepts(value):
            raise self.refused(f"{key} = {shown(value)}", f"it must be {kind.words}")
        accepted: T = value
        return accepted

    def need(self, key: str, kind: ValueKind[T]) -> T:
        """The value of a key that has to be there.

        Raises:
            MalformedConfiguration: it is not there, or the value is of another kind.
        """
        value = self.read(key, kind)
        if value is None:
            raise self.refused(key, f"it is missing; it must be {kind.words}")
        return value

    def table(self, key: str) -> "Table":
        """The table of that key; an empty one if there is no such key."""
        return Table(self.file, self.key(key), self.read(key, TABLE) or {})

    def tables(self, key: str) -> Mapping[str, "Table"]:
        """The tables in the table of that key, by name, in the order of the file."""
        outer = self.table(key)
        return {name: outer.table(name) for name in outer.values}

    def key(self, key: str) -> str:
        """The whole path of a key; of "" that of this table."""
        return ".".join(filter(None, (self.path, key)))

    def refused(self, what: str, why: str) -> MalformedConfiguration:
        """The error of a key, `what` begins with its name."""
        return MalformedConfiguration(self.file, f"{self.key(what)}: {why}")

    @contextmanager
    def at(self, key: str) -> Iterator[None]:
        """Context of a check of scenarios.plugin.statements: its errors name the file and the key."""
        try:
            yield
        except UnknownName as error:
            raise self.refused(key, str(error)) from error
        except MalformedStatement as error:
            stated = error.what if error.what.startswith(f"{key}.") else key
            raise self.refused(stated, error.why) from error
        except PluginFailed as error:
            raise self.refused(key, error.why) from error


def shown(value: object) -> str:
    """A value for a message."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= VALUE_CHARS else text[:VALUE_CHARS] + "…"
