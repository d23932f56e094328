"""Idempotency keys: which submissions of one user and key belong together (rules 14, 24 and 25). Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from scenarios.judging.policy import Policy
from scenarios.record.history import ACKNOWLEDGEMENTS, Event, History, ns_of


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

    @property
    def opened_ns(self) -> int | None:
        """The earliest acknowledgement, from which the key is kept."""
        return min((one.acknowledged_ns for one in self.invocations if one.acknowledged_ns is not None), default=None)

    def add(self, submission: Submission) -> None:
        """Add a submission."""
        self.invocations.append(submission)
        ids = self.ids.setdefault(submission.task, [])
        if submission.id is not None:
            ids.append(submission.id)


def groups_of(history: History, named: tuple[str | None, str], policy: Policy) -> list[KeyGroup]:
    """The groups of one user and key, in order of their begin."""
    groups: list[KeyGroup] = []
    for submission in submissions_of(history.key_events[named]):
        if not groups or _opens_another(history, groups[-1], submission, policy):
            groups.append(KeyGroup())
        groups[-1].add(submission)
    return groups


def submissions_of(events: list[Event]) -> Iterator[Submission]:
    """Invocations with their answers, in order of their begin."""
    found: list[Submission] = []
    open_: dict[tuple[str, str], int] = {}
    for event in events:
        assert event.task is not None
        name = (event.task, event.actor)
        if event.event in ("submit.invoke", "spawn"):
            open_[name] = len(found)
            found.append(Submission(event.task, event.t_ns, None, event.t_ns if event.event == "spawn" else None))
            continue
        place = open_.get(name)
        if place is None:  # answered to another actor, or without an invocation
            place = next((number for number, one in enumerate(found) if one.task == event.task), None)
        if event.event not in ACKNOWLEDGEMENTS:
            continue
        identity = None if event.id is None else str(event.id)
        if place is None:
            found.append(Submission(event.task, event.t_ns, identity, event.t_ns))
        elif found[place].acknowledged_ns is None:
            found[place] = Submission(event.task, found[place].began_ns, identity, event.t_ns)
        else:  # a second answer
            found.append(Submission(event.task, found[place].began_ns, identity, event.t_ns))
    return iter(sorted(found, key=lambda one: one.began_ns))


def _opens_another(history: History, group: KeyGroup, submission: Submission, policy: Policy) -> bool:
    """Whether this submission begins a new group: the key has expired, or the task of the group had already started."""
    opened_ns = group.opened_ns
    kept_ns = None if policy.key_window_s is None else ns_of(policy.key_window_s)
    if kept_ns is not None and opened_ns is not None and submission.began_ns > opened_ns + kept_ns:
        return True
    if not policy.coalesce:
        return False
    known = {identity for ids in group.ids.values() for identity in ids}
    if submission.id is not None and submission.id in known:
        return False
    return submission.task not in group.ids and any(
        attempt.started_ns < submission.began_ns for task in group.ids for attempt in history.tasks[task].attempts[:1]
    )
