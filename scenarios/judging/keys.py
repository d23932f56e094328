"""Idempotency keys: which submissions of one user and key belong together (rules 14, 24 and 25). Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from scenarios.judging.policy import Policy
from scenarios.record.history import ACKNOWLEDGEMENTS, FOREVER_NS, Event, History, ns_of


@dataclass(frozen=True, slots=True)
class Submission:
    """One submission under a key: its begin, the id in its answer, and the time of its acknowledgement."""

    task: str
    began_ns: int
    id: str | None
    acknowledged_ns: int | None


@dataclass(slots=True)
class KeyGroup:
    """Submissions that are one task by their key. `ids`: by task, the ids in its answers."""

    invocations: list[Submission] = field(default_factory=list)
    ids: dict[str, list[str]] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    """The ids in all answers."""
    opened_ns: int = FOREVER_NS
    """The earliest acknowledgement, from which the key is kept."""
    started_ns: int = FOREVER_NS
    """The earliest start of its tasks."""

    def add(self, history: History, submission: Submission) -> None:
        """Add a submission."""
        self.invocations.append(submission)
        if submission.task not in self.ids:
            self.ids[submission.task] = []
            starts_ns = [attempt.started_ns for attempt in history.tasks[submission.task].attempts[:1]]
            self.started_ns = min([self.started_ns, *starts_ns])
        if submission.id is not None:
            self.ids[submission.task].append(submission.id)
            self.known.add(submission.id)
        if submission.acknowledged_ns is not None:
            self.opened_ns = min(self.opened_ns, submission.acknowledged_ns)


def groups_of(history: History, named: tuple[str | None, str], policy: Policy) -> list[KeyGroup]:
    """The groups of one user and key, in order of their begin."""
    groups: list[KeyGroup] = []
    for submission in submissions_of(history.key_events[named]):
        if not groups or _opens_another(groups[-1], submission, policy):
            groups.append(KeyGroup())
        groups[-1].add(history, submission)
    return groups


def submissions_of(events: list[Event]) -> Iterator[Submission]:
    """Invocations with their answers, in order of their begin."""
    found: list[Submission] = []
    open_: dict[tuple[str, str], int] = {}
    first: dict[str, int] = {}  # by task
    for event in events:
        assert event.task is not None
        name = (event.task, event.actor)
        if event.event in ("submit.invoke", "spawn"):
            open_[name] = len(found)
            first.setdefault(event.task, len(found))
            found.append(Submission(event.task, event.t_ns, None, event.t_ns if event.event == "spawn" else None))
            continue
        place = open_.get(name)
        if place is None:  # answered to another actor, or without an invocation
            place = first.get(event.task)
        if event.event not in ACKNOWLEDGEMENTS:
            continue
        identity = None if event.id is None else str(event.id)
        if place is None:
            first[event.task] = len(found)
            found.append(Submission(event.task, event.t_ns, identity, event.t_ns))
        elif found[place].acknowledged_ns is None:
            found[place] = Submission(event.task, found[place].began_ns, identity, event.t_ns)
        else:  # a second answer
            found.append(Submission(event.task, found[place].began_ns, identity, event.t_ns))
    return iter(sorted(found, key=lambda one: one.began_ns))


def _opens_another(group: KeyGroup, submission: Submission, policy: Policy) -> bool:
    """Whether this submission begins a new group: the key has expired, or the task of the group had already started."""
    if policy.key_window_s is not None and submission.began_ns > group.opened_ns + ns_of(policy.key_window_s):
        return True
    if not policy.coalesce:
        return False
    if submission.id is not None and submission.id in group.known:
        return False
    return submission.task not in group.ids and group.started_ns < submission.began_ns
