"""R32: the API knows its callers: a token each, tasks of one's own, operators, and nothing without a token."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Scope

from reference_impl.http.body_limit import BodyLimit
from reference_impl.http.routes import create_app
from reference_impl.http.service import Api
from reference_impl.http.users import Users, users_of
from reference_impl.rows.transactions import transact
from reference_impl.settings import Settings, SettingsInvalid
from tests.unit.reference.asgi_client import AsgiClient
from tests.unit.reference.reference_world import World

ALICE, BOB, CAROL = "alice-0123456789", "bob-0123456789abc", "carol-0123456789"
USERS = f"# people\nalice {ALICE}\nbob {BOB}\n\ncarol {CAROL} operator\n"


def settings_of(place: Path, content: str = USERS) -> Settings:
    (place / "users").write_text(content)
    return Settings(users_file=str(place / "users"))


def users(place: Path) -> Users:
    found = users_of(settings_of(place))
    assert found is not None
    return found


@pytest.fixture
def client(world: World, tmp_path: Path) -> AsgiClient:
    settings = settings_of(tmp_path)
    api = Api(world.runtime("api-1"), world.engine, world.broker, world.cache, world.metrics, settings)
    return AsgiClient(create_app(api, users(tmp_path)))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def submitted(client: AsgiClient, token: str, user: str) -> Any:
    body = {"user_id": user, "type": "mail", "payload": {"to": user}}
    return client.post("/tasks", json=body, headers=bearer(token))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer(""),
        bearer("wrong-0123456789abc"),
        bearer(ALICE + "x"),
        bearer(ALICE[:-1]),
        {"Authorization": ALICE},
        {"Authorization": f"Basic {ALICE}"},
        [("Authorization", f"Bearer {ALICE}"), ("Authorization", f"Bearer {BOB}")],
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/tasks"), ("GET", "/tasks/x"), ("GET", "/dead-letters")])
def test_without_a_valid_token_nothing_is_answered(client: AsgiClient, headers: Any, method: str, path: str) -> None:
    answer = client.request(method, path, headers=headers, content=b"not even JSON")

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json() == {"error": "no valid bearer token", "definite": True}


def test_health_metrics_and_the_description_need_no_token(client: AsgiClient) -> None:
    paths = ("/health/live", "/health/ready", "/metrics", "/openapi.json")

    assert [client.get(path).status_code for path in paths] == [200] * 4
    assert "HTTPBearer" in client.get("/openapi.json").json()["components"]["securitySchemes"]


def test_a_user_submits_in_no_other_name(client: AsgiClient) -> None:
    assert submitted(client, ALICE, "alice").status_code == 202
    assert submitted(client, ALICE, "bob").status_code == 403
    assert submitted(client, CAROL, "bob").status_code == 202


@pytest.mark.parametrize(("token", "status"), [(ALICE, 200), (BOB, 404), (CAROL, 200)])
def test_a_task_of_another_user_is_not_there_except_for_operators(client: AsgiClient, token: str, status: int) -> None:
    place = submitted(client, ALICE, "alice").headers["location"]
    headers = bearer(token)

    answers = [client.get(place, headers=headers), client.get(f"{place}/transitions", headers=headers)]
    answers.append(client.post(f"{place}/cancel", headers=headers))

    assert [answer.status_code for answer in answers] == [status] * 3
    state = client.get(place, headers=bearer(ALICE)).json()["status"]
    assert state == ("ACCEPTED" if status == 404 else "CANCELLED")


def test_dead_letters_are_those_of_the_caller_and_all_of_an_operator(client: AsgiClient, world: World) -> None:
    task = submitted(client, ALICE, "alice").json()["id"]
    insert = "INSERT INTO dead_letters (task_id, reason, attempts, created_us) VALUES (?, 'poison', 1, 1)"
    transact(world.engine, lambda connection: connection.exec_driver_sql(insert, (task,)))

    seen = {token: client.get("/dead-letters", headers=bearer(token)).json() for token in (ALICE, BOB, CAROL)}

    assert [len(letters) for letters in seen.values()] == [1, 0, 1]
    letter = f"/dead-letters/{seen[ALICE][0]['id']}"
    for action, body in (("redrive", None), ("discard", {"why": "x"})):
        assert client.post(f"{letter}/{action}", json=body, headers=bearer(BOB)).status_code == 404
    assert client.post(f"{letter}/discard", json={"why": "x"}, headers=bearer(ALICE)).status_code == 204


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "holds 0 tokens"),
        ("alice\n", "line 1: not of the form"),
        (f"alice {ALICE} root\n", "line 1: not of the form"),
        (f"al ice {ALICE} operator\n", "line 1: not of the form"),
        ("# x\nalice short\n", "line 2: a token has 16 characters or more"),
        (f"alice {ALICE}\nbob {ALICE}\n", "line 2: two users have the same token"),
    ],
)
def test_a_file_that_is_none_is_refused_and_no_token_is_told(content: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=why) as caught:
        users_of(settings_of(tmp_path, content))

    assert ALICE not in str(caught.value)


def test_authentication_is_off_only_where_the_settings_say_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="users_file must name"):
        users_of(Settings())
    with pytest.raises(SettingsInvalid, match="cannot be read"):
        users_of(Settings(users_file=str(tmp_path / "none")))

    assert users_of(Settings(authentication="off")) is None


def test_no_token_is_kept_in_memory(tmp_path: Path) -> None:
    assert ALICE not in repr(vars(users(tmp_path)))


def test_a_body_that_does_not_come_to_its_end_is_answered_408() -> None:
    sent: list[Message] = []

    async def application(scope: Scope, receive: Any, send: Any) -> None:
        raise AssertionError("it must not see such a request")

    async def receive() -> Message:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(BodyLimit(application, 10_000, timeout_s=0.1)({"type": "http"}, receive, send))

    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"]) == {"error": "the body was not complete after 0.1 s", "definite": True}
