"""Where open tasks are: found by their names and ids, and by nothing that only looks like them."""

import pytest

from scenarios.stored import open_tasks
from scenarios.stored.open_tasks import OpenTask, OpenTaskSearch, Place
from tasklab.presentation.run_notes import print_notes

UUID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"


def places_of(ids: dict[str, str | None], *texts: str) -> dict[str, tuple[str, ...]]:
    search = OpenTaskSearch(ids)
    for number, text in enumerate(texts):
        search.look(f"place {number}", text)
    return {task.task: tuple(place.place for place in task.places) for task in search.result({}).tasks}


@pytest.mark.parametrize(
    "text",
    [
        '{"task": "task-0001"}',
        f"celery-task-meta-{UUID}",
        f"lab_1.tasks:progress:{UUID}",
        f"b'{UUID}'",
        "task-0001",
    ],
)
def test_a_task_is_found_by_its_name_and_by_its_id(text: str) -> None:
    assert places_of({"task-0001": UUID}, "nothing", text) == {"task-0001": ("place 1",)}


@pytest.mark.parametrize("text", ["task-00011", "xtask-0001", "task-0002", f"{UUID}0", "0305e82c3301", "907", ""])
def test_a_longer_or_another_word_is_not_the_task(text: str) -> None:
    assert places_of({"task-0001": UUID, "task-0907": "907"}, text) == {"task-0001": (), "task-0907": ()}


def test_every_open_task_is_listed_with_what_the_system_says_and_what_could_not_be_read() -> None:
    search = OpenTaskSearch({"task-0001": None, "task-0002": UUID})
    search.look("rabbitmq queue jobs", "task-0002 " + "x" * 1000)
    search.note_unread("redis: no answer")

    found = search.result({"task-0001": "in the registry"})

    assert (found.total, found.searched, found.unread) == (2, 1, ("redis: no answer",))
    kept = Place("rabbitmq queue jobs", ("task-0002 " + "x" * 1000)[: open_tasks.TEXT_CHARACTERS])
    assert found.tasks == (
        OpenTask(task="task-0001", says="in the registry"),
        OpenTask(task="task-0002", id=UUID, places=(kept,)),
    )


def test_a_task_that_may_never_have_been_accepted_is_listed_only_if_it_is_somewhere() -> None:
    search = OpenTaskSearch({"task-0001": None, "task-0002": None, "task-0003": None})
    search.look("rabbitmq queue jobs", "task-0002")

    found = search.result({}, {"task-0001", "task-0002"})

    assert [task.task for task in found.tasks] == ["task-0002", "task-0003"]
    assert found.total == 2


def test_of_very_many_tasks_and_places_some_are_kept_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_tasks, "TASKS_MAX", 2)
    monkeypatch.setattr(open_tasks, "PLACES_MAX", 3)
    search = OpenTaskSearch({"a-1": None, "b-2": None, "c-3": None})
    for number in range(10):
        search.look(f"place {number}", "a-1 c-3")

    found = search.result({})

    assert found.total == 3
    assert [(task.task, len(task.places)) for task in found.tasks] == [("a-1", 3), ("b-2", 0)]


def test_where_something_could_not_be_read_a_task_is_not_said_to_be_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    search = OpenTaskSearch({"task-0001": None})
    search.look("redis string x", "nothing")
    search.note_unread("rabbitmq: no answer")

    print_notes([], search.result({}))

    printed = " ".join(capsys.readouterr().out.split())
    assert "not searched for open tasks: rabbitmq: no answer" in printed
    assert "task-0001: in no message, key or row that could be read" in printed
