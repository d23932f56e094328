"""Tasks and dead letters over HTTP: read, cancelled, redriven, discarded."""

import pytest

from reference_impl.task import TaskState
from tests.unit.reference.api_world import TASK, post
from tests.unit.reference.asgi_client import AsgiClient
from tests.unit.reference.reference_world import World


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
