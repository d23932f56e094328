"""Assumptions about the record of a run, without which no promise is held: ends with a cause, starts after submissions, whole files. Pure.

Only for runs of the lab itself, real or simulated, because it knows the requests of its clients, its files and its faults. A foreign
history may lack all of these (docs/history.md) and is judged as it is.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from scenarios.record.history import History, TaskTimeline
from scenarios.record.run_facts import FaultRecord, RunFacts

SHOWN = 3
"""Maximum number of tasks named for one violated assumption."""

_WORK = ("submit.", "attempt.", "effect", "ack.", "state", "dead", "lease.", "write")
"""Prefixes of events that show a system at work."""
_RECORDED_FOR_PROCESSES = frozenset({"crash", "restart"})
"""Events that the lab records under the name of a process."""
_HANDLER_ROLE = "worker"
"""Processes in this role run handlers, which record events."""
_STEPS = (
    ("fault.begin", "begun_ns", "began"),
    ("fault.bit", "bit_ns", "bit"),
    ("fault.end", "ended_ns", "was lifted"),
    ("fault.healed", "healed_ns", "healed"),
)
"""The steps of a strike: in the history, in run.json, in words."""


class ViolatedAssumption(str):
    """One sentence. `leaves_record_intact`: only the system's own lists, or the strikes, are in doubt.

    `is_forgery`: the system may have invented events, so that no event is believed.
    """

    leaves_record_intact: bool
    is_forgery: bool

    def __new__(
        cls, sentence: str, *, leaves_record_intact: bool = False, is_forgery: bool = False
    ) -> "ViolatedAssumption":
        """A sentence, and how far the events of the record can be trusted."""
        violated = str.__new__(cls, sentence)
        violated.leaves_record_intact = leaves_record_intact
        violated.is_forgery = is_forgery
        return violated


def is_forgery(violated: str) -> bool:
    """Whether an event of the record may be one that the system invented, so that none proves anything."""
    return isinstance(violated, ViolatedAssumption) and violated.is_forgery


def leaves_record_intact(violated: str) -> bool:
    """Whether the events can be trusted in spite of this violation, so that they still prove violations of promises."""
    return isinstance(violated, ViolatedAssumption) and violated.leaves_record_intact


def violated_assumptions(history: History) -> list[str]:
    """The violated assumptions about the record of a run of the lab itself, one sentence for each."""
    tasks, final = history.tasks, history.final
    cancelled, expired, done = (final.cancelled or (), final.expired or (), final.done or ()) if final else ((), (), ())
    asked = {event.task for event in history.events if event.event.startswith("cancel.")} if cancelled else set()
    return [
        *_about_account(
            "listed as cancelled, but no client cancelled it", (task for task in cancelled if task not in asked)
        ),
        *_about_account(
            "listed as expired, but had no deadline",
            (task for task in expired if task in tasks and tasks[task].deadline_s is None),
        ),
        *_about_account(
            "listed as done, but never ran", (task for task in done if task in tasks and not tasks[task].ran)
        ),
        *_about_account(
            "listed as done, but none of its attempts ended well, and it had no effect",
            (task for task in done if task in tasks and tasks[task].ran and not _may_be_done(tasks[task])),
        ),
        *_sentence(
            "has an effect, but no recorded attempt", (task for task, line in tasks.items() if _lacks_attempts(line))
        ),
        *_sentence("ran before it was submitted", (task for task, line in tasks.items() if _ran_early(line))),
    ]


def violated_assumptions_of_run(facts: RunFacts, history: History, sizes: Mapping[str, int]) -> list[str]:
    """As `violated_assumptions`, and contradictions to run.json; `sizes`: present bytes of each history file."""
    violated = violated_assumptions(history)
    for name, size in facts.sizes.items():
        if sizes.get(name) != size:
            now = f"has {sizes[name]}" if name in sizes else "is gone"
            violated.append(f"{name} had {size} bytes when the run ended, and {now} now")
    violated += [
        f"{name} did not exist when the run ended" for name in sizes if facts.sizes and name not in facts.sizes
    ]
    last_ns = next((event.t_ns for event in reversed(history.events) if event.event.startswith(_WORK)), 0)
    if not facts.faults_may_miss:
        violated += _with_intact_record(_strikes_without_work(facts.strikes, max(last_ns, history.last_end_ns or 0)))
    seen = [name for name, size in sizes.items() if size]
    violated += _with_intact_record(_struck_without_events(facts.strikes, history, seen))
    violated += _strike_differences(facts.strikes, history)
    violated += _crash_differences(facts, history)
    return violated


def events_of_the_wrong_source(foreign_events: Mapping[str, Collection[str]]) -> Iterator[str]:
    """History files of processes of the system with events that only clients, the outside resource or the lab can know."""
    for file, names in sorted(foreign_events.items()):
        shown = ", ".join(sorted(names)[:SHOWN])
        sentence = f"{file} was written by a process of the system, but holds events that it cannot know: {shown}"
        yield ViolatedAssumption(sentence, is_forgery=True)


def _strikes_without_work(strikes: Iterable[FaultRecord], last_ns: int) -> Iterator[str]:
    for strike in strikes:
        fault = f"fault {strike.fault} on {strike.target}"
        if strike.problem:
            continue  # already a problem of the run
        if strike.bit_ns is None or strike.healed_ns is None:
            yield f"{fault} lacks the time of its bite or of its heal in run.json"
        elif _struck_ns(strike, strike.bit_ns) > last_ns:
            yield f"{fault} bit after all work was done"


def _struck_ns(strike: FaultRecord, bit_ns: int) -> int:
    """When it began to matter: a process that is told to end may end when the others have done everything."""
    return strike.begun_ns if strike.crashed_process and strike.begun_ns is not None else bit_ns


def _struck_without_events(strikes: Iterable[FaultRecord], history: History, files: Collection[str]) -> Iterator[str]:
    """Struck handler processes without any event: probably another process did the work.

    Use file names too, because a prefiltered history lacks events. A worker may be idle for a run if others took all tasks.
    """
    of_handlers = [
        strike
        for strike in strikes
        if strike.stopped_process and _HANDLER_ROLE in strike.roles and strike.bit_ns is not None
    ]
    if not of_handlers:
        return
    actors = {event.actor for event in history.events if event.event not in _RECORDED_FOR_PROCESSES}
    for strike in of_handlers:
        if strike.target in actors:
            continue
        if not any(file.startswith(f"history.{strike.target}.") for file in files):
            yield f"fault {strike.fault} struck {strike.target}, which recorded no event"


def _strike_differences(strikes: Collection[FaultRecord], history: History) -> Iterator[str]:
    """Steps of strikes whose numbers differ between the history and run.json."""
    of_faults = [one for one in history.events if one.fault is not None]
    for event, instant, words in _STEPS:
        stated = Counter((strike.fault, strike.target) for strike in strikes if getattr(strike, instant) is not None)
        recorded = Counter((str(one.fault), str(one.target)) for one in of_faults if one.event == event)
        for fault, target in sorted(stated.keys() | recorded.keys()):
            in_run, in_history = stated[fault, target], recorded[fault, target]
            if in_run != in_history:
                yield f"fault {fault} on {target} {words} {in_run} times in run.json, {in_history} times in the history"


def _crash_differences(facts: RunFacts, history: History) -> Iterator[str]:
    """Crashes that the lab has not seen. A crash excuses a repeat, so a system must not record its own crashes."""
    if facts.died is None:
        return  # an earlier version did not count
    seen = Counter(facts.died)
    seen.update(facts.killed_by_task)
    seen.update(one.target for one in facts.strikes if one.crashed_process and one.bit_ns is not None)
    recorded = Counter({actor: len(crashes) for actor, crashes in history.crashes.items()})
    for actor in sorted(seen.keys() | recorded.keys()):
        if seen[actor] != recorded[actor]:
            yield f"{actor} crashed {recorded[actor]} times in the history, and the lab saw {seen[actor]}"


def _may_be_done(timeline: TaskTimeline) -> bool:
    """Whether a system can know it as done: the probe records the end of an attempt before the system learns of it."""
    return timeline.succeeded or bool(timeline.effects)


def _lacks_attempts(timeline: TaskTimeline) -> bool:
    return bool(timeline.effects) and not timeline.attempts


def _ran_early(timeline: TaskTimeline) -> bool:
    """Whether an attempt began before the first submission of a submitted task."""
    if not timeline.submissions or not timeline.attempts:
        return False
    if any(event.event == "spawn" for event in timeline.submissions):
        return False  # told by the process that made it, perhaps after another one has begun it
    return timeline.attempts[0].started_ns < min(event.t_ns for event in timeline.submissions)


def _about_account(what: str, tasks: Iterable[str]) -> Iterator[str]:
    return _with_intact_record(_sentence(what, tasks))


def _with_intact_record(sentences: Iterable[str]) -> Iterator[str]:
    return (ViolatedAssumption(sentence, leaves_record_intact=True) for sentence in sentences)


def _sentence(what: str, tasks: Iterable[str]) -> Iterator[str]:
    """One sentence for all these tasks; none if there are no tasks."""
    found = sorted(tasks)
    if found:
        more = f" (and {len(found) - SHOWN} more)" if len(found) > SHOWN else ""
        yield f"{', '.join(found[:SHOWN])}{more}: {what}"
