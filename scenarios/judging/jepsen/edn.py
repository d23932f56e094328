"""Reads the part of EDN, the notation of Jepsen's histories, that histories use. Keywords and symbols become their names."""

import re
from collections.abc import Iterator
from typing import Any

NESTING_MAX = 200
DIGITS_MAX = 1000
"""Python refuses to convert numbers of more than 4,300 digits."""

_TOKEN = re.compile(
    r"""[\s,]+ | ;[^\n]*                     # white space and comments
    | (?P<open>\#?[({\[]|\#\#?(?=[({\[]))    # a collection begins (and reader functions, which histories do not have)
    | (?P<close>[)}\]])
    | (?P<string>"(?:\\.|[^"\\])*")
    | (?P<discard>\#_)
    | (?P<special>\#\#\w+)                   # ##NaN, ##Inf
    | (?P<tag>\#[A-Za-z][^\s,;"()\[\]{}]*)
    | (?P<char>\\(?:newline|space|tab|return|u[0-9a-fA-F]{4}|.))
    | (?P<atom>[^\s,;"()\[\]{}\\]+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_CHARACTERS = {"newline": "\n", "space": " ", "tab": "\t", "return": "\r"}
_CLOSES = {"(": ")", "[": "]", "{": "}", "#{": "}", "#(": ")", "#[": "]"}
_NAMED = {"nil": None, "true": True, "false": False}


class MalformedEdn(ValueError):
    """The text is not EDN; the message says why and at which character."""


class Tagged(tuple[str, Any]):
    """A tagged element that is not a record: its tag and its value."""

    __slots__ = ()


def read_all(text: str) -> Iterator[Any]:
    """Every form of the text: maps as dicts, vectors, lists and sets as lists.

    Raises:
        MalformedEdn: a form without its end, or an end without its begin.
    """
    reader = _Reader(text)
    while (form := reader.form(0)) is not _END:
        yield form


_END = object()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def form(self, depth: int) -> Any:
        """The next form; _END at the end of the text."""
        kind, token = self._next()
        if kind == "end":
            return _END
        if kind == "close":
            raise MalformedEdn(f"{token!r} at {self._at} closes nothing")
        return self._form_of(kind, token, depth)

    def _form_of(self, kind: str, token: str, depth: int) -> Any:
        if depth > NESTING_MAX:
            raise MalformedEdn(f"more than {NESTING_MAX} collections inside one another")
        match kind:
            case "open":
                return self._collection(token, depth)
            case "string":
                return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), token[1:-1], flags=re.DOTALL)
            case "discard":
                self._some_form(depth)
                return self.form(depth)
            case "tag":
                value = self._some_form(depth + 1)
                return value if isinstance(value, dict) else Tagged((token[1:], value))
            case "char":
                return _CHARACTERS.get(token[1:], token[-1])
            case "special":
                return token[2:]
        return _atom(token)

    def _some_form(self, depth: int) -> Any:
        form = self.form(depth)
        if form is _END:
            raise MalformedEdn("the text ends where a form should follow")
        return form

    def _collection(self, opened: str, depth: int) -> Any:
        items = []
        while True:
            kind, token = self._next()
            if kind == "end":
                raise MalformedEdn(f"a collection that began with {opened!r} does not end")
            if kind == "close":
                if token != _CLOSES[opened]:
                    raise MalformedEdn(f"{token!r} at {self._at} closes {opened!r}")
                break
            if kind == "discard":
                self._some_form(depth + 1)
                continue
            items.append(self._form_of(kind, token, depth + 1))
        if opened != "{":
            return items
        if len(items) % 2:
            raise MalformedEdn(f"a map with a key and no value, before {self._at}")
        return {_as_key(name): value for name, value in zip(items[::2], items[1::2], strict=True)}

    def _next(self) -> tuple[str, str]:
        while self._at < len(self._text):
            found = _TOKEN.match(self._text, self._at)
            if found is None:
                raise MalformedEdn(f"no EDN form begins at {self._at}: {self._text[self._at : self._at + 20]!r}")
            self._at = found.end()
            if found.lastgroup is not None:
                return found.lastgroup, found[0]
        return "end", ""


def _as_key(form: Any) -> Any:
    return str(form) if isinstance(form, list | dict) else form


def _atom(token: str) -> Any:
    if token in _NAMED:
        return _NAMED[token]
    if token.startswith(":"):
        return token[1:]
    if re.fullmatch(r"[-+]?\d+N?", token):
        if len(token) > DIGITS_MAX:
            raise MalformedEdn(f"a number of more than {DIGITS_MAX} digits")
        return int(token.rstrip("N"))
    if re.fullmatch(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?M?", token):
        return float(token.rstrip("M"))
    return token
