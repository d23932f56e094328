"""What the tests of the HTTP edge share: an application over a world, and submissions to it."""

import json
from typing import Any

from sqlalchemy import func, select

from reference_impl.rows import schema
from tests.unit.reference.asgi_client import AsgiClient
from tests.unit.reference.reference_world import World

TASK = {"user_id": "alice", "type": "mail", "payload": {"to": "bob"}}


LIMIT = 20


def count(world: World) -> int:
    with world.engine.connect() as connection:
        return sum(
            connection.scalar(select(func.count()).select_from(table)) or 0
            for table in (schema.tasks, schema.outbox, schema.audit)
        )


def post(client: AsgiClient, body: Any, **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    names = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return client.post("/tasks", content=content, headers=names)
