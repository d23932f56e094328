"""The notation for histories in tests: one event a line, with its time, as one would write down what happened.

    0        client   submit.invoke   A   key=k
    0.01     client   submit.ok       A   id=1
    1        worker   attempt.start   A   attempt=1
    2..3     lab      fault           fault=service_killed target=broker
    3..3.1   worker   lease.acquired  resource=r ttl_s=5
    100      lab      final           done=A,B pending=null

A line holds the time in seconds, the actor, the name of the event, the task if the event has one, and any other fields of the
event as `name=value`. The order of the lines is free; events of equal time keep the order of their lines. Empty lines and lines
that begin with `#` are passed over.

- Values have the type of their field (scenarios/record/events.py). `step` and `id` are numbers if they look like numbers.
  `null` is no value. A list is separated by commas: `done=A,B`; `done=` is the empty list.
- `"…"` is always text, written as in JSON. Actors and tasks may be written so, too.
- `3..3.1` before an event: the actor asked at 3 s and saw the answer at 3.1 s (`asked_ns`).
- `2..3 lab fault …` stands for the four events of a fault: it begins and bites at 2 s, is lifted and healed at 3 s.
  `2.. lab fault …` is never lifted.
- `final` is healed and caught up, and each of its lists is empty, unless the line says otherwise.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from scenarios.record.events import FINAL_LISTS, NS_PER_S, REQUIRED_FIELDS, Event, MalformedEvent, event_from
from scenarios.record.history import History, Recorded


def _in_words(kind: Any) -> str:
    """A type without its bounds: `int | None`."""
    if get_origin(kind) in (Union, UnionType):
        return " | ".join(map(_in_words, get_args(kind)))
    return "None" if kind is NoneType else str(kind) if get_args(kind) else kind.__name__


_HINTS = get_type_hints(Event)
_TYPES = {field.encode_name: _in_words(_HINTS[field.name]) for field in msgspec.structs.fields(Event)}
_LISTS = {name for name, kind in _TYPES.items() if "tuple" in kind}
_NUMBERS_OR_TEXTS = {name for name, kind in _TYPES.items() if "int" in kind and "str" in kind}
_NUMBERS = {name for name, kind in _TYPES.items() if "str" not in kind}
"""Fields whose values are written as in JSON: numbers, true and false."""
_TOKEN = re.compile(r'(?:[^\s"]|"(?:[^"\\]|\\.)*")+')
_TIME = re.compile(r"(?P<first>-?\d+(\.\d+)?(e-?\d+)?)(?P<span>\.\.(?P<last>-?\d+(\.\d+)?)?)?")


class BadLine(ValueError):
    """A line that is not in the notation; the message holds its number, the line, and what is wrong with it."""

    def __init__(self, number: int, line: str, why: str) -> None:
        super().__init__(f"line {number}, {line.strip()!r}: {why}")


def history(*texts: str) -> History:
    """The history that these lines are; each text holds one line or several."""
    return History(events(*texts))


def recorded(*texts: str) -> Recorded:
    """The same, as if it had been read from files."""
    return Recorded(history(*texts))


def events(*texts: str) -> list[Event]:
    """The events in the order of their lines.

    Raises:
        BadLine: a line that is not in the notation, or not an event of the vocabulary.
    """
    found: list[Event] = []
    for number, line in enumerate("\n".join(texts).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.extend(_events_of(line))
        except (ValueError, MalformedEvent) as error:
            raise BadLine(number, line, str(error)) from error
    return found


def json_lines(*texts: str) -> bytes:
    """The content of a history file that holds these events."""
    return b"".join(msgspec.json.encode(one) + b"\n" for one in events(*texts))


def quoted(text: str) -> str:
    """How a line says this text, whatever characters it holds."""
    return json.dumps(text)


def event(line: str) -> Event:
    """The one event of a line."""
    (one,) = events(line)
    return one


def _events_of(line: str) -> Iterator[Event]:
    time, actor, name, *rest = _tokens_of(line)
    instants = _TIME.fullmatch(time)
    if instants is None:
        raise ValueError(f"{time!r} is no time: write seconds, as 1.5, or from..to")
    fields = {"actor": _text(actor), **_fields_of(rest)}
    first_ns = _ns(instants["first"])
    last_ns = None if instants["last"] is None else _ns(instants["last"])
    if name == "fault":
        yield from _fault(first_ns, last_ns, fields)
        return
    if name not in REQUIRED_FIELDS:
        raise ValueError(f"unknown event {name!r}{_nearest(name, REQUIRED_FIELDS)}")
    if name == "final":
        fields = {"healed": True, "caught_up": True, **dict.fromkeys(FINAL_LISTS, ()), **fields}
    if instants["span"]:
        if last_ns is None:
            raise ValueError("only a fault can stay open")
        fields["asked_ns"] = first_ns
    yield event_from({"event": name, "t_ns": first_ns if last_ns is None else last_ns, **fields})


def _tokens_of(line: str) -> list[str]:
    if '"' not in line:
        tokens = line.split()
    else:
        tokens = _TOKEN.findall(line)
        if _TOKEN.sub("", line).strip():
            raise ValueError("a quote is not closed")
    if len(tokens) < 3:
        raise ValueError("a line holds a time, an actor and the name of an event")
    return tokens


def _fault(first_ns: int, last_ns: int | None, fields: dict[str, Any]) -> Iterator[Event]:
    for step in ("begin", "bit"):
        yield event_from({"event": f"fault.{step}", "t_ns": first_ns, **fields})
    if last_ns is not None:
        for step in ("end", "healed"):
            yield event_from({"event": f"fault.{step}", "t_ns": last_ns, **fields})


def _fields_of(tokens: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for place, token in enumerate(tokens):
        name, equals, text = token.partition("=")
        if not equals and place:
            raise ValueError(f"{token!r} is no name=value")
        if not equals or name.startswith('"'):
            name, text = "task", token
        if name not in _TYPES:
            raise ValueError(f"no event has a field {name!r}{_nearest(name, _TYPES)}")
        if name in fields:
            raise ValueError(f"{name!r} is given twice")
        fields[name] = _value(name, text)
    return fields


def _value(name: str, text: str) -> Any:
    if text == "null":
        return None
    if text.startswith('"'):
        return _text(text)
    if name in _LISTS:
        return [part for part in text.split(",") if part]
    if name in _NUMBERS or (name in _NUMBERS_OR_TEXTS and text.isdecimal()):
        try:
            return json.loads(text)
        except ValueError as error:
            raise ValueError(f"{name}={text} is no {_TYPES[name]}") from error
    return text


def _text(token: str) -> str:
    """The text that a token stands for: itself, or the text between its quotes."""
    return str(json.loads(token)) if token.startswith('"') else token


def _ns(seconds: str) -> int:
    return round(float(seconds) * NS_PER_S)


def _nearest(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
