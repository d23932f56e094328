"""Where the tasks of a run are that had not ended when it was over: open_tasks.json in the run directory."""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping

import msgspec

TASKS_MAX = 200
"""Tasks that are looked for."""
PLACES_MAX = 20
"""Places that are kept of one task."""
TEXT_CHARACTERS = 300
ID_CHARACTERS_MIN = 8
"""A shorter id, such as 907, is found in too many places that have nothing to do with the task."""
_WORD = re.compile(r"[A-Za-z0-9]+")


class Place(msgspec.Struct, frozen=True):
    """Where a task was found, and the beginning of what is there."""

    place: str
    text: str = ""


class OpenTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that had not ended: its name, the id that the system gave it, and every place that names it; `says`: the system itself."""

    task: str
    id: str | None = None
    says: str = ""
    places: tuple[Place, ...] = ()


class OpenTasks(msgspec.Struct, frozen=True, kw_only=True):
    """The content of open_tasks.json. `searched`: how many messages, keys and rows were read; `total`: open tasks, listed or not."""

    total: int
    searched: int
    unread: tuple[str, ...] = ()
    tasks: tuple[OpenTask, ...] = ()

    @property
    def nowhere(self) -> str:
        """What is to be said of a task without a place."""
        return f"in no message, key or row{' that could be read' if self.unread else ''}"


class OpenTaskSearch:
    """Finds tasks by their names and ids in texts. `ids`: the open tasks, each with its id, None where it has none."""

    def __init__(self, ids: Mapping[str, str | None]) -> None:
        self._ids = dict(list(ids.items())[:TASKS_MAX])
        self._total = len(ids)
        self._found: dict[str, dict[Place, None]] = defaultdict(dict)
        self._unread: list[str] = []
        self._searched = 0
        self._by_word: dict[str, list[tuple[str, re.Pattern[str]]]] = defaultdict(list)
        for task, id_ in self._ids.items():
            for key in (task, id_ if id_ is not None and len(id_) >= ID_CHARACTERS_MIN else None):
                words = _WORD.findall(key or "")
                if key and words:
                    whole = re.compile(rf"(?<![A-Za-z0-9]){re.escape(key)}(?![A-Za-z0-9])")
                    self._by_word[words[-1]].append((task, whole))

    def look(self, place: str, text: str) -> None:
        """Note every open task that the text names."""
        self._searched += 1
        for task in self._tasks_in(text):
            places = self._found[task]
            if len(places) < PLACES_MAX:
                places[Place(place, text[:TEXT_CHARACTERS])] = None

    def note_unread(self, why: str) -> None:
        """A place that could not be read."""
        self._unread.append(why)

    def result(self, says: Mapping[str, str], unsure: Container[str] = ()) -> OpenTasks:
        """What was found. `says`: by task, the place that the system itself names. `unsure`: tasks that may never have been
        accepted; those that are nowhere are left out."""
        tasks = [
            OpenTask(task=task, id=id_, says=says.get(task, ""), places=tuple(self._found[task]))
            for task, id_ in self._ids.items()
            if task not in unsure or task in says or self._found[task]
        ]
        total = self._total - (len(self._ids) - len(tasks))
        return OpenTasks(total=total, searched=self._searched, unread=tuple(self._unread), tasks=tuple(tasks))

    def _tasks_in(self, text: str) -> Iterable[str]:
        return dict.fromkeys(self._candidates(text))

    def _candidates(self, text: str) -> Iterator[str]:
        for word in dict.fromkeys(_WORD.findall(text)):
            yield from (task for task, whole in self._by_word.get(word, ()) if whole.search(text))
