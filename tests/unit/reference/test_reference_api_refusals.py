"""What the HTTP edge refuses: it creates nothing, and the answer says what was wrong."""

import json
from typing import Any

import pytest
from sqlalchemy import select

from reference_impl.http.routes import ENVELOPE_BYTES
from reference_impl.rows import schema
from tests.unit.reference.api_world import TASK, count, post
from tests.unit.reference.asgi_client import AsgiClient
from tests.unit.reference.reference_world import World


def deep(levels: int) -> bytes:
    return b'{"user_id":"a","type":"t","payload":{"x":' + b"[" * levels + b"]" * levels + b"}}"


def with_payload(text: str) -> bytes:
    return b'{"user_id":"a","type":"t","payload":{"x":' + text.encode() + b"}}"


REFUSED: dict[str, tuple[Any, int]] = {
    "empty": (b"", 422),
    "broken JSON": (b'{"user_id":', 422),
    "no JSON": (b"hello", 422),
    "no UTF-8": (b'{"user_id":"\xff"}', 400),
    "a list": ([], 422),
    "null": (b"null", 422),
    "no user": ({"type": "t", "payload": {}}, 422),
    "user is a number": ({**TASK, "user_id": 7}, 422),
    "user is empty": ({**TASK, "user_id": ""}, 422),
    "user is too long": ({**TASK, "user_id": "u" * 65}, 422),
    "user with a line break": ({**TASK, "user_id": "a\n"}, 422),
    "user that is no text": (b'{"user_id":"\\ud800","type":"t","payload":{}}', 422),
    "type with a space": ({**TASK, "type": "a b"}, 422),
    "payload is a list": ({**TASK, "payload": []}, 422),
    "payload is text": ({**TASK, "payload": "{}"}, 422),
    "payload is missing": ({"user_id": "u", "type": "t"}, 422),
    "priority is text": ({**TASK, "priority": "1"}, 422),
    "priority is a truth": ({**TASK, "priority": True}, 422),
    "priority is a fraction": ({**TASK, "priority": 1.5}, 422),
    "priority is out of range": ({**TASK, "priority": 10}, 422),
    "priority is huge": (b'{"user_id":"a","type":"t","payload":{},"priority":' + b"9" * 4000 + b"}", 422),
    "priority is more than huge": (b'{"user_id":"a","type":"t","payload":{},"priority":' + b"9" * 5000 + b"}", 400),
    "deadline is text": ({**TASK, "deadline_s": "5"}, 422),
    "deadline is past": ({**TASK, "deadline_s": 0}, 422),
    "deadline is NaN": (b'{"user_id":"a","type":"t","payload":{},"deadline_s":NaN}', 422),
    "deadline is infinite": (b'{"user_id":"a","type":"t","payload":{},"deadline_s":1e999}', 422),
    "deadline is huge": (b'{"user_id":"a","type":"t","payload":{},"deadline_s":' + b"9" * 400 + b"}", 422),
    "unknown field": ({**TASK, "colour": "red"}, 422),
    "unknown field that is no text": (b'{"user_id":"a","type":"t","payload":{},"\\ud800":1}', 422),
    "unknown field of great length": ({**TASK, "x" * 60_000: 1}, 422),
    "NaN in the payload": (with_payload("NaN"), 422),
    "infinity in the payload": (with_payload("-Infinity"), 422),
    "an overflow in the payload": (with_payload("1e400"), 422),
    "no text in the payload": (with_payload('"\\ud800"'), 422),
    "no text as a key in the payload": (b'{"user_id":"a","type":"t","payload":{"\\udfff":1}}', 422),
    "nested too deeply": (deep(100), 422),
    "nested as deep as a body allows": (deep(30_000), 400),
    "payload too large": ({**TASK, "payload": {"x": "y" * 64 * 1024}}, 413),
    "payload too large once escaped": ({**TASK, "payload": {"x": "\u00e9" * 12_000}}, 413),
    "body too large": (b" " * (64 * 1024 + ENVELOPE_BYTES + 1), 413),
}


@pytest.mark.parametrize(("body", "status"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_a_task_is_refused_and_nothing_is_created(
    client: AsgiClient, world: World, body: Any, status: int
) -> None:
    """R25, R8: strict types, bounded sizes, one form of refusal; nothing is counted against the user's limit."""
    answer = post(client, body)

    refusal = answer.json()
    assert answer.status_code == status
    assert set(refusal) == {"error", "definite"}
    assert refusal["definite"] is True
    assert len(refusal["error"]) <= 500
    assert count(world) == 0
    assert not [key for key in world.cache._entries if key.startswith("limit:")]


@pytest.mark.parametrize(
    "body",
    [
        {**TASK, "payload": {}},
        {**TASK, "payload": {"x": "y" * 65_000}},
        {**TASK, "payload": {"x": "\u00e9 \U0001f600 \u0000"}},
        {**TASK, "payload": {"n": 10**4000, "f": 1.5, "z": None}},
        {**TASK, "priority": 9, "deadline_s": 1},
        {**TASK, "user_id": "u" * 64, "type": "A.b:c@d/e+f-_0"},
        json.loads(deep(62)),
    ],
    ids=["empty", "large", "any text", "large numbers", "all fields", "long names", "deep"],
)
def test_what_is_allowed_is_accepted_and_read_back_as_it_was(client: AsgiClient, world: World, body: Any) -> None:
    """R1, R25."""
    answer = post(client, body)

    assert answer.status_code == 202
    with world.engine.connect() as connection:
        assert json.loads(connection.scalar(select(schema.tasks.c.payload)) or "") == body["payload"]


@pytest.mark.parametrize(
    "headers",
    [
        {"idempotency_key": ""},
        {"idempotency_key": "a b"},
        {"idempotency_key": "k" * 256},
        {"idempotency_key": "\u00e9"},
        {"x_trace_id": "a b"},
        {"x_trace_id": "t" * 65},
    ],
)
def test_a_header_that_cannot_be_is_refused(client: AsgiClient, world: World, headers: dict[str, str]) -> None:
    given = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}

    answer = client.post("/tasks", content=json.dumps(TASK), headers={k: v.encode("latin-1") for k, v in given.items()})

    assert (answer.status_code, answer.json()["definite"]) == (422, True)
    assert count(world) == 0


def test_a_body_that_is_not_said_to_be_json_is_refused(client: AsgiClient, world: World) -> None:
    answer = client.post("/tasks", content=json.dumps(TASK), headers={"content-type": "text/plain"})

    assert answer.status_code == 422
    assert count(world) == 0


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/tasks/nobody"),
        ("GET", "/tasks/nobody/transitions"),
        ("POST", "/tasks/nobody/cancel"),
        ("POST", "/dead-letters/7/redrive"),
        ("GET", "/nowhere"),
        ("GET", "/tasks/%ff"),
        ("GET", "/tasks/%ed%a0%80"),
        ("GET", "/tasks/%00"),
        ("GET", "/tasks/' OR 1=1 --"),
    ],
)
def test_an_unknown_id_is_404(client: AsgiClient, method: str, path: str) -> None:
    answer = client.request(method, path)

    assert answer.status_code == 404
    assert answer.json()["definite"] is True


@pytest.mark.parametrize("letter", ["0", "-1", "x", str(2**63), "9" * 5000])
def test_an_id_that_cannot_be_one_is_refused(client: AsgiClient, letter: str) -> None:
    assert client.post(f"/dead-letters/{letter}/redrive").status_code == 422


def test_a_method_that_a_place_does_not_know_is_405_and_says_which_it_does(client: AsgiClient) -> None:
    answer = client.request("PUT", "/tasks", json=TASK)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json() == {"error": "Method Not Allowed", "definite": True}
