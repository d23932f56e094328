"""The HTTP edge: every answer means what it says, every refusal creates nothing and says whether it is definite."""

import json
from typing import Any

import pytest
from sqlalchemy import func, select

from reference_impl.adapters.memory import MemoryBroker
from reference_impl.errors import BrokerUnavailable, CacheUnavailable, CommitUnknown, DatabaseUnavailable
from reference_impl.http import service as endpoints
from reference_impl.http.routes import ENVELOPE_BYTES, create_app
from reference_impl.http.service import Api
from reference_impl.rows import schema
from reference_impl.settings import Settings
from reference_impl.task import TaskState
from tests.unit.reference.asgi_client import AsgiClient
from tests.unit.reference.reference_world import World

TASK = {"user_id": "alice", "type": "mail", "payload": {"to": "bob"}}
LIMIT = 20


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.runtime("api-1"), world.engine, world.broker, world.cache, world.metrics, Settings())


@pytest.fixture
def client(api: Api) -> AsgiClient:
    return AsgiClient(create_app(api, users=None))


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


def test_a_submission_is_answered_at_once_with_where_to_look(client: AsgiClient, world: World) -> None:
    """R8."""
    answer = post(client, TASK, x_trace_id="trace-1")

    body = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/tasks/{body['id']}"
    assert (body["status"], body["trace_id"], body["attempt"]) == ("ACCEPTED", "trace-1", 0)
    assert client.get(answer.headers["location"]).json() == body
    assert count(world) == 3


def test_a_trace_id_is_made_up_where_none_is_given(client: AsgiClient) -> None:
    """R8."""
    assert post(client, TASK).json()["trace_id"]


@pytest.mark.parametrize("key", [None, "k1"])
def test_the_same_submission_again_is_the_same_task(client: AsgiClient, world: World, key: str | None) -> None:
    """R8: 200, and nothing new."""
    headers = {} if key is None else {"idempotency_key": key}
    first = post(client, TASK, **headers)

    second = post(client, TASK, **headers)

    assert (first.status_code, second.status_code) == (202, 200)
    assert second.json() == first.json()
    assert second.headers["location"] == first.headers["location"]
    assert count(world) == 3


def test_a_key_of_another_request_is_a_conflict(client: AsgiClient, world: World) -> None:
    """R8."""
    post(client, TASK, idempotency_key="k1")

    answer = post(client, {**TASK, "payload": {}}, idempotency_key="k1")

    assert (answer.status_code, answer.json()["definite"]) == (409, True)
    assert count(world) == 3


def test_a_full_window_is_refused_with_when_to_come_back(
    client: AsgiClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R6: nothing is created; what was accepted before is still found."""
    monkeypatch.setattr(world.cache, "_wall_s", lambda: 600.0 + 59.7)
    answers = [post(client, {**TASK, "payload": {"n": number}}) for number in range(LIMIT + 1)]

    refused = answers[-1]
    known = post(client, {**TASK, "payload": {"n": 0}})

    assert [answer.status_code for answer in answers] == [202] * LIMIT + [429]
    assert refused.headers["retry-after"] == "1", "rounded up: a client that comes back after 0 s is refused again"
    assert refused.json() == {"error": "too many new tasks; try again in 1 s", "definite": True}
    assert count(world) == 3 * LIMIT
    assert known.status_code == 200
    assert post(client, {**TASK, "user_id": "bob"}).status_code == 202


def test_redis_being_down_lets_submissions_through_and_counts_them(
    client: AsgiClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R6: the documented choice is to fail open."""

    def away(*_: Any, **__: Any) -> None:
        raise CacheUnavailable("away")

    monkeypatch.setattr(world.cache, "count_in_window", away)
    monkeypatch.setattr(world.cache, "read_progress", away)

    answer = post(client, TASK)

    assert answer.status_code == 202
    assert client.get(answer.headers["location"]).status_code == 200
    assert "reference_limits_unchecked_total 1.0" in client.get("/metrics").text


@pytest.mark.parametrize(("error", "definite"), [(DatabaseUnavailable("gone"), True), (CommitUnknown("cut"), False)])
def test_a_database_that_is_away_is_503_and_says_whether_anything_may_have_happened(
    client: AsgiClient, monkeypatch: pytest.MonkeyPatch, error: Exception, definite: bool
) -> None:
    """R8: a client must know whether its submission may be there."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(endpoints, "submit", fail)

    answer = post(client, TASK)

    assert answer.status_code == 503
    assert answer.json() == {"error": str(error), "definite": definite}


def test_an_error_of_ours_is_500_in_the_same_form_and_not_definite(
    client: AsgiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R18: it says its class, not its words."""

    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("s3cr3t")

    monkeypatch.setattr(endpoints, "submit", fail)

    answer = post(client, TASK)

    assert answer.status_code == 500
    assert answer.json() == {"error": "internal error: ZeroDivisionError", "definite": False}
    assert 'reference_submissions_total{status="500"} 1.0' in client.get("/metrics").text


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


def test_a_task_shows_its_progress_while_it_runs_and_its_result_when_it_has_ended(
    client: AsgiClient, world: World
) -> None:
    """R4, R28: the final state comes from the database and is never contradicted by the cache."""
    place = post(client, TASK).headers["location"]
    task = world.find(FakeTask(place.rsplit("/", 1)[1]))  # type: ignore[arg-type]
    claim = world.claim(task)
    world.cache.write_progress(task.id, {"step": "half", "percent": 50}, expiry_s=3600.0)
    running = client.get(place).json()
    world.succeed(claim, {"sent": True})
    done = client.get(place).json()

    assert (running["status"], running["progress"]) == ("RUNNING", {"step": "half", "percent": "50"})
    assert (done["status"], done["progress"], done["result"]) == ("SUCCEEDED", None, {"sent": True})
    assert client.get(f"{place}/transitions").json()[-1]["to_status"] == "SUCCEEDED"


class FakeTask:
    def __init__(self, id_: str) -> None:
        self.id = id_


def test_cancelling_says_what_it_promises(client: AsgiClient, world: World) -> None:
    """R16: 200 it will not run; 202 it was asked to stop; 409 it had ended."""
    waiting, running, ended = (world.submit() for _ in range(3))
    world.claim(running)
    world.succeed(world.claim(ended))

    answers = [client.post(f"/tasks/{task.id}/cancel") for task in (waiting, waiting, running, ended)]

    assert [answer.status_code for answer in answers] == [200, 200, 202, 409]
    assert [answer.json().get("status") for answer in answers] == ["CANCELLED", "CANCELLED", "RUNNING", None]
    assert answers[2].json()["cancel_requested"] is True


def test_dead_letters_are_seen_redriven_and_discarded(client: AsgiClient, world: World) -> None:
    """R12."""
    first, second = world.submit(), world.submit()
    world.kill(first)
    world.kill(second)
    letters = client.get("/dead-letters").json()

    redriven = client.post(f"/dead-letters/{letters[0]['id']}/redrive")
    again = client.post(f"/dead-letters/{letters[0]['id']}/redrive")
    discarded = client.post(f"/dead-letters/{letters[1]['id']}/discard", json={"why": "known bug"})
    no_reason = client.post(f"/dead-letters/{letters[1]['id']}/discard", json={"why": ""})

    assert [(letter["task_id"], letter["reason"], letter["attempts"]) for letter in letters] == [
        (first.id, "exhausted", 3),
        (second.id, "exhausted", 3),
    ]
    assert [answer.status_code for answer in (redriven, again, discarded, no_reason)] == [204, 404, 204, 422]
    assert client.get("/dead-letters").json() == []
    assert (world.find(first).status, world.find(second).status) == (TaskState.ACCEPTED, TaskState.DEAD)


@pytest.mark.parametrize("limit", ["0", "1001", "x"])
def test_a_list_of_dead_letters_is_bounded(client: AsgiClient, limit: str) -> None:
    assert client.get("/dead-letters", params={"limit": limit}).status_code == 422


def test_metrics_tell_what_this_process_counted_and_what_the_database_knows(client: AsgiClient, world: World) -> None:
    """R19."""
    post(client, TASK)
    post(client, TASK)
    post(client, b"")
    post(client, b" " * 100_000)
    world.kill(world.submit())

    lines = client.get("/metrics").text.splitlines()

    assert {
        'reference_submissions_total{status="202"} 1.0',
        'reference_submissions_total{status="200"} 1.0',
        'reference_submissions_total{status="422"} 1.0',
        'reference_submissions_total{status="413"} 1.0',
        'reference_tasks{state="ACCEPTED"} 1',
        'reference_tasks{state="DEAD"} 1',
        'reference_tasks{state="RUNNING"} 0',
        "reference_outbox_pending 5",
        "reference_dead_letters_open 1",
        "reference_database_up 1",
    } <= set(lines)
    assert [line for line in lines if line.startswith("reference_oldest_task_seconds{")] == [
        line for line in lines if line.startswith('reference_oldest_task_seconds{state="ACCEPTED"}')
    ]


def test_only_submissions_are_counted_as_submissions(client: AsgiClient) -> None:
    """R19."""
    client.get("/tasks/nobody")
    client.get("/nowhere")

    assert "reference_submissions_total{" not in client.get("/metrics").text


def test_metrics_are_there_while_the_database_is_away(client: AsgiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """R19: that is when they are needed."""
    post(client, TASK)

    def away(*_: Any) -> None:
        raise DatabaseUnavailable("refused")

    monkeypatch.setattr("reference_impl.http.routes.read", away)

    answer = client.get("/metrics")

    assert answer.status_code == 200
    assert "reference_database_up 0" in answer.text.splitlines()
    assert 'reference_submissions_total{status="202"} 1.0' in answer.text.splitlines()


def test_ready_says_which_part_does_not_answer(
    client: AsgiClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R19: broker and cache being down do not make the API unready: submitting needs the database alone."""
    healthy = client.get("/health/ready")

    def away(*_: Any) -> None:
        raise BrokerUnavailable("refused")

    def no_cache() -> None:
        raise CacheUnavailable("refused")

    monkeypatch.setattr(world.broker, "depth", away)
    monkeypatch.setattr(world.cache, "ping", no_cache)
    partly = client.get("/health/ready")

    assert (healthy.status_code, healthy.json()) == (
        200,
        {"database": "ok", "cache": "ok", "broker": "ok, 0 waiting"},
    )
    assert partly.status_code == 200
    assert "refused" in partly.json()["broker"]
    assert "refused" in partly.json()["cache"]
    assert client.get("/health/live").json() == {"status": "live"}


def test_ready_is_503_without_a_database_and_live_is_not(client: AsgiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """R19."""

    def away(*_: Any) -> None:
        raise DatabaseUnavailable("refused")

    monkeypatch.setattr("reference_impl.http.routes.read", away)

    assert client.get("/health/ready").status_code == 503
    assert client.get("/health/live").status_code == 200


def test_a_process_that_has_not_declared_its_queues_yet_is_ready(api: Api) -> None:
    """R29: the embedded process answers before its first worker has declared them."""
    young = Api(api.runtime, api.engine, MemoryBroker(), api.cache, api.metrics, api.settings)

    assert AsgiClient(create_app(young, users=None)).get("/health/ready").status_code == 200
