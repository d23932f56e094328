"""Each occurrence of `policy.schedules` comes exactly once (rule 25). The witness is the schedule.

Occurrences are `spawn` events with `schedule` and `due_s`: due at `since_s` + k · `every_s`, both ends included, matched within
`tolerance_s`. An occurrence is missed if it was due during a fault or a crash and not spawned by due + `tolerance_s`. Of each consecutive
run of missed ones all come later (`catch_up`: `all`), only the last (`last`), or none (`none`).
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from scenarios.judging.policy import Policy, Schedule
from scenarios.judging.verdict import Findings, Proof, Violation
from scenarios.record.history import FOREVER_NS, Event, History, earliest_ns, ns_of

OCCURRENCES_MAX = 1_000_000
"""A schedule with more is not judged."""

Span = tuple[int, int]


def check(history: History, policy: Policy) -> Findings:
    """Schedules with an occurrence that is missing, came twice, or was not due."""
    spawned: dict[str, list[Event]] = defaultdict(list)
    for event in history.spawns:
        if event.schedule is not None and event.due_s is not None:
            spawned[event.schedule].append(event)
    occurrences = sum(map(len, spawned.values()))
    figures = {"occurrences": occurrences}
    schedules = policy.schedules or {}
    unstated = sorted(spawned.keys() - schedules.keys())
    undecided = f"the policy does not state the schedule {unstated[0]!r}" if unstated else ""
    violations = []
    for name, schedule in sorted(schedules.items()):
        if (min(_until_ns(history, schedule), history.end_ns) - ns_of(schedule.since_s)) > OCCURRENCES_MAX * ns_of(
            schedule.every_s
        ):
            undecided = undecided or f"the schedule {name!r} has more than {OCCURRENCES_MAX} occurrences"
            continue
        what, proof = _Judged(history, schedule, policy, spawned.get(name, [])).wrong()
        if what:
            violations.append(Violation(name, proof, what))
    exercised = sum(len(events) for name, events in spawned.items() if name in schedules)
    return Findings(
        tuple(violations),
        exercised=exercised or len(violations),
        undecided=undecided,
        figures={**figures, "wrong": len(violations)},
    )


def _until_ns(history: History, schedule: Schedule) -> int:
    return history.end_ns if schedule.until_s is None else ns_of(schedule.until_s)


class _Judged:
    """One schedule against its occurrences."""

    def __init__(self, history: History, schedule: Schedule, policy: Policy, spawns: Sequence[Event]) -> None:
        self._history = history
        self._schedule = schedule
        self._budget_ns = ns_of(policy.budget_s or 0.0)
        self._tolerance_ns = ns_of(policy.tolerance_s or 0.0)
        self._possible, self._certain = _fault_times(history)
        self._spawned: dict[int, list[int]] = defaultdict(list)  # by place: the spawns of this occurrence
        self._not_due: list[Event] = []
        for event in spawns:
            self._add(event)

    def _due_ns(self, place: int) -> int:
        return ns_of(self._schedule.since_s) + place * ns_of(self._schedule.every_s)

    def _add(self, event: Event) -> None:
        assert event.due_s is not None
        due_ns, every_ns = ns_of(event.due_s), ns_of(self._schedule.every_s)
        place = round((due_ns - self._due_ns(0)) / every_ns)
        is_on_it = place >= 0 and abs(due_ns - self._due_ns(place)) <= self._tolerance_ns
        is_before_its_end = self._schedule.until_s is None or self._due_ns(place) <= ns_of(self._schedule.until_s)
        if is_on_it and is_before_its_end:
            self._spawned[place].append(event.t_ns)
        else:
            self._not_due.append(event)

    def wrong(self) -> tuple[str, Proof]:
        """The violation, in words, and its kind of evidence; empty if there is none."""
        if self._not_due:
            event = self._not_due[0]
            return f"{event.task} is due at {event.due_s:g} s, but no occurrence is due then", Proof.EVENTS
        for place, spawned_ns in sorted(self._spawned.items()):
            if len(spawned_ns) > 1:
                return f"{len(spawned_ns)} occurrences for {self._due_ns(place) / 1e9:g} s", Proof.EVENTS
        for is_missed, run in groupby(range(self._places()), key=self._is_missed):
            places = list(run)
            found = self._wrong_of_missed(places) if is_missed else self._wrong_of_regular(places)
            if found:
                return found, Proof.RECORD
        return "", Proof.END

    def _places(self) -> int:
        """The number of occurrences whose due time and tolerance lie before the end of the record."""
        end_ns = min(self._history.end_ns - self._tolerance_ns - 1, _until_ns(self._history, self._schedule))
        return max(0, (end_ns - self._due_ns(0)) // ns_of(self._schedule.every_s) + 1)

    def _is_missed(self, place: int) -> bool:
        due_ns = self._due_ns(place)
        in_time = any(t_ns <= due_ns + self._tolerance_ns for t_ns in self._spawned.get(place, ()))
        return not in_time and any(from_ns <= due_ns <= until_ns for from_ns, until_ns in self._possible)

    def _wrong_of_regular(self, places: Sequence[int]) -> str:
        for place in places:
            if place not in self._spawned:
                return f"no occurrence for {self._due_ns(place) / 1e9:g} s"
        return ""

    def _wrong_of_missed(self, places: Sequence[int]) -> str:
        """The violation of `catch_up` in a consecutive run of missed occurrences."""
        match self._schedule.catch_up:
            case "all":
                absent = [place for place in places if place not in self._spawned]
                return self._absent(absent)
            case "last":
                return self._absent([places[-1]] if places[-1] not in self._spawned else []) or self._late(places[:-1])
            case "none":
                return self._late(places)
        return ""

    def _absent(self, places: Sequence[int]) -> str:
        for place in places:
            due_ns = self._due_ns(place)
            healed_ns = max((until for since, until in self._possible if since <= due_ns <= until), default=due_ns)
            if healed_ns < FOREVER_NS and self._history.end_ns > healed_ns + self._budget_ns:
                return f"the occurrence for {due_ns / 1e9:g} s was missed and never came"
        return ""

    def _late(self, places: Sequence[int]) -> str:
        for place in places:
            due_ns = self._due_ns(place)
            if place in self._spawned and any(since <= due_ns <= until for since, until in self._certain):
                return f"the occurrence for {due_ns / 1e9:g} s was missed, but came later, against catch_up"
        return ""


def _fault_times(history: History) -> tuple[list[Span], list[Span]]:
    """The times in which a fault or crash may have been on, and those in which one surely was."""
    possible = [(span.begun_ns, span.healed_ns) for span in history.faults]
    certain = [(span.surely_from_ns, span.surely_until_ns) for span in history.faults]
    for actor, crashes in history.crashes.items():
        restarts_ns = history.restarts_ns.get(actor, ())
        for crash in crashes:
            back_ns = min((instant for instant in restarts_ns if instant >= crash.t_ns), default=FOREVER_NS)
            possible.append((earliest_ns(crash), back_ns))
            certain.append((crash.t_ns, back_ns))
    return possible, certain
