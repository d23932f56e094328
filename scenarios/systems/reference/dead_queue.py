"""The queue of dead letters, held against the rows: a message for each letter, and none for a task that has no letter."""

import json
from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, select

from reference_impl.rows.schema import dead_letters, outbox, tasks
from scenarios.record.history import History
from scenarios.simulated.inspection import Inspection

BROKER = "rabbitmq"


def wrong_messages(inspection: Inspection, dead_queue: str) -> Iterator[str]:
    """Letters without a message, and messages without a letter."""
    messages = inspection.queues.get(dead_queue, ())
    if messages or any(event.event == "dead" for event in inspection.history.events):
        with inspection.engine.connect() as connection:
            wrong = list(_wrong(connection, inspection, messages, dead_queue))
        yield from wrong


def _wrong(connection: Connection, inspection: Inspection, messages: Sequence[bytes], dead_queue: str) -> Iterator[str]:
    letters = set(connection.scalars(select(dead_letters.c.task_id)))
    written = set(connection.scalars(select(outbox.c.task_id).where(outbox.c.queue == dead_queue)))
    names = {
        id_: json.loads(payload)["task"] for id_, payload in connection.execute(select(tasks.c.id, tasks.c.payload))
    }
    in_queue = {_task_id(body) for body in messages}
    unsent = letters - written - in_queue
    if not _loses_messages(inspection.history):
        yield from (f"the dead letter of {names.get(id_, id_)} has no message" for id_ in sorted(unsent))
    excused = letters | {_task_id(body) for body in inspection.given_up}
    for id_ in sorted(names):
        if id_ in in_queue and id_ not in excused:
            yield f"a message of {names[id_]} is among the dead letters, and the task has no letter"


def _loses_messages(history: History) -> bool:
    """Whether a broker was killed, which may forget a young queue; what was sent to it may be purged from the outbox."""
    return any(span.target.endswith(BROKER) for span in history.faults)


def _task_id(body: bytes) -> str:
    """The id in a message, or "" for one that is not the system's."""
    try:
        return str(json.loads(body)["task_id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
