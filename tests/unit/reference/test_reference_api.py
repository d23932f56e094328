"""Submissions over HTTP: every answer means what it says, and every failure says whether it is definite."""

from typing import Any

import pytest

from reference_impl.errors import CacheUnavailable, CommitUnknown, DatabaseUnavailable
from reference_impl.http import service as endpoints
from tests.unit.reference.api_world import LIMIT, TASK, count, post
from tests.unit.reference.asgi_client import AsgiClient
from tests.unit.reference.reference_world import World


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
