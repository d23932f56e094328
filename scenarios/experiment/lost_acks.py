"""The task of an acknowledgement that the lab swallowed: identified by the structure of its message, never by similar text.

Pure.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from chaos.injection import Interruption, Message
from scenarios.experiment.strike_state import StrikeState
from scenarios.record.history import Event

TOKEN_CHARACTERS_MIN = 8
"""In plain text, a shorter id proves nothing: it may be part of any other text."""
NODES_MAX = 20_000
"""Maximum number of values read from one message."""
DEPTH_MAX = 6
"""Maximum number of nested encodings: JSON in a JSON string, base64 in a field."""

_OWN_IDS = frozenset({"message_id", "correlation_id", "id", "task_id", "taskid", "task", "job_id", "jobid", "uuid"})
"""Names under which a message carries its own task's id; other names that end in `id` may be those of a parent, a root, a worker."""
_TOKEN = re.compile(r"[0-9A-Za-z_.:\-]+")
_BASE64 = re.compile(r"[0-9A-Za-z+/_\-\s]+={0,2}\s*")

Ids = Mapping[str, str | None]
"""The system's id by the lab's task name; None if the system never answered with one."""
Field = tuple[str, str]
"""A name and its value: a text, or an integer as text."""


def task_of(message: Message, ids: Ids) -> str | None:
    """The task of the message; None if it names no task or several."""
    found = tasks_in(message, ids)
    return found[0] if len(found) == 1 else None


def tasks_in(message: Message, ids: Ids) -> tuple[str, ...]:
    """The tasks named by the strongest sign in the message, sorted: one or none; several if the sign is ambiguous."""
    properties = list(message.properties)
    fields = list(_fields(message.body))
    by_id = _by_id(ids)
    signs: Sequence[Callable[[], set[str]]] = (
        lambda: _matching(properties, by_id, _is_own_id),
        lambda: {value for name, value in fields if name == "task" and value in ids},
        lambda: _matching(fields, by_id, _is_own_id),
        lambda: _matching([*properties, *fields], by_id, _is_any_id),
        lambda: _matching(properties, by_id, _is_any),
        lambda: {task for value in _texts(message.body) for task in by_id.get(value, ())},
        lambda: {task for token in _long_tokens(message.body) for task in by_id.get(token, ())},
    )
    for sign in signs:
        if found := sign():
            return tuple(sorted(found))
    return ()


def lost_acks(
    states: Iterable[StrikeState], ids: Ids, attempt_of: Callable[[str, str], int | None]
) -> tuple[list[Event], list[str]]:
    """An `ack.info` for each swallowed acknowledgement, in the order of time; and one sentence for each ambiguous message.

    `attempt_of`: the number of the latest attempt of a task in a process, or None if unknown.
    """
    events: list[Event] = []
    problems: list[str] = []
    for state in states:
        if not state.fault.loses_ack or state.bit_ns is None:
            continue
        for message in state.evidence.messages:
            tasks = tasks_in(message, ids)
            if len(tasks) > 1:
                named = f"{tasks[0]}, {tasks[1]}" + (f" and {len(tasks) - 2} more" if len(tasks) > 2 else "")
                problems.append(f"the message whose ack was lost on {state.target} could be that of {named}")
            events += [
                Event(
                    event="ack.info",
                    actor="broker",
                    # The earliest instant: the broker may redeliver before the lab has observed the bite.
                    t_ns=state.bit_ns if state.bite_asked_ns is None else state.bite_asked_ns,
                    asked_ns=state.bite_asked_ns,
                    task=task,
                    attempt=attempt_of(task, state.target),
                )
                for task in tasks[: len(tasks) == 1]
            ]
    return sorted(events, key=lambda event: event.t_ns), problems


def acks_in_hand(interruptions: Iterable[tuple[int, Interruption]], ids: Ids) -> list[Event]:
    """An `ack.info` of the process for each delivery that it had in hand when its connection to the broker ended, in the order of time.

    Its acknowledgement can no longer arrive: the broker delivers it again, and the process may run it all the same. `interruptions`:
    each with its instant on the clock of the run. A message that names no task, or several, is passed over.
    """
    named = [
        (at_ns, ended.process, task_of(message, ids)) for at_ns, ended in interruptions for message in ended.messages
    ]
    return [
        Event(event="ack.info", actor=process, t_ns=at_ns, task=task)
        for at_ns, process, task in sorted(named, key=lambda one: one[0])
        if task is not None
    ]


def _by_id(ids: Ids) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for task, id_ in ids.items():
        if id_ is not None:
            found.setdefault(id_, []).append(task)
    return found


def _matching(fields: Iterable[Field], by_id: Mapping[str, Sequence[str]], is_meant: Callable[[str], bool]) -> set[str]:
    return {task for name, value in fields if is_meant(name) for task in by_id.get(value, ())}


def _is_own_id(name: str) -> bool:
    return name.lower() in _OWN_IDS


def _is_any_id(name: str) -> bool:
    return name.lower() == "id" or name.lower().endswith("_id") or name.endswith(("Id", "ID"))


def _is_any(name: str) -> bool:
    return True


def _fields(body: str) -> Iterator[Field]:
    """Every named text or integer of a body that is JSON, or base64 of JSON."""
    return ((name, str(value)) for name, value in _scalars(body) if name)


def _texts(body: str) -> Iterator[str]:
    """Every text of a body that is JSON, or base64 of JSON."""
    return (value for _, value in _scalars(body) if isinstance(value, str))


def _long_tokens(body: str) -> Iterator[str]:
    return (token for token in _TOKEN.findall(body) if len(token) >= TOKEN_CHARACTERS_MIN)


def _scalars(body: str) -> Iterator[tuple[str, str | int]]:
    """The scalars, depth first, each with its name in its object (in a list: the list's name), or ""."""
    document = _decoded(body)
    left: list[tuple[str, object, int]] = [] if document is None else [("", document, 0)]
    for _ in range(NODES_MAX):
        if not left:
            return
        name, value, depth = left.pop()
        if isinstance(value, dict):
            left.extend((str(key), one, depth) for key, one in value.items())
        elif isinstance(value, list):
            left.extend((name, one, depth) for one in value)
        elif isinstance(value, str):
            yield name, value
            inner = _decoded(value) if depth < DEPTH_MAX else None
            if isinstance(inner, dict | list):
                left.append(("", inner, depth + 1))
        elif isinstance(value, int) and not isinstance(value, bool):
            yield name, value


def _decoded(text: str) -> object:
    """The JSON document in a text, plain or in base64; None if there is none."""
    for candidate in (text, _from_base64(text)):
        if candidate.lstrip()[:1] in ("{", "["):
            try:
                document: object = json.loads(candidate)
            except (ValueError, RecursionError):
                continue
            return document
    return None


def _from_base64(text: str) -> str:
    if not _BASE64.fullmatch(text):
        return ""
    try:
        return base64.b64decode(text, validate=False).decode()
    except (binascii.Error, ValueError):
        return ""
