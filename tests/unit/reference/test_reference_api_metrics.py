"""Metrics and readiness over HTTP, also while a part is away."""

from typing import Any

import pytest

from reference_impl.adapters.memory import MemoryBroker
from reference_impl.errors import BrokerUnavailable, CacheUnavailable, DatabaseUnavailable
from reference_impl.http.routes import create_app
from reference_impl.http.service import Api
from tests.unit.reference.api_world import TASK, post
from tests.unit.reference.asgi_client import AsgiClient
from tests.unit.reference.reference_world import World


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
