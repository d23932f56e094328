"""What the record of a run must bear out before anything in it is held: ends with a cause, starts after submissions, whole files. Pure.

Only of runs of the lab's own, real or simulated: the lab knows what its clients asked for, how it records, and what it struck. A foreign
history may leave all of that out (docs/history.md), and is judged as it is.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from scenarios.record.history import History, TaskTimeline
from scenarios.record.run_facts import FaultRecord, RunFacts

SHOWN = 3
"""Maximum number of tasks named for one violated assumption."""

_WORK = ("submit.", "attempt.", "effect", "ack.", "state", "dead", "lease.", "write")
"""How the names of events begin that show a system at work."""
_TOLD_OF_PROCESSES = frozenset({"crash", "restart"})
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
    """One sentence. `spares_record`: the system's own lists, or the strikes, are in doubt; the record may be whole all the same."""

    spares_record: bool

    def __new__(cls, sentence: str, *, spares_record: bool = False) -> "ViolatedAssumption":
        """A sentence with what it casts doubt on."""
        violated = str.__new__(cls, sentence)
        violated.spares_record = spares_record
        return violated


def spares_record(violated: str) -> bool:
    """Whether this violation leaves the record itself whole: then what the record proves stands."""
    return isinstance(violated, ViolatedAssumption) and violated.spares_record


def violated_assumptions(history: History) -> list[str]:
    """Why the record of a run of the lab's own cannot be believed, a sentence for each violated assumption; none: it can."""
    tasks, final = history.tasks, history.final
    cancelled, expired, done = (final.cancelled or (), final.expired or (), final.done or ()) if final else ((), (), ())
    asked = {event.task for event in history.events if event.event.startswith("cancel.")} if cancelled else set()
    return [
        *_of_account("listed as cancelled, and nobody cancelled it", (task for task in cancelled if task not in asked)),
        *_of_account(
            "listed as expired, and had no deadline",
            (task for task in expired if task in tasks and tasks[task].deadline_s is None),
        ),
        *_of_account("listed as done, and never ran", (task for task in done if task in tasks and not tasks[task].ran)),
        *_said("an effect, and no attempt recorded", (task for task, line in tasks.items() if _acted_unseen(line))),
        *_said("ran before it was submitted", (task for task, line in tasks.items() if _ran_early(line))),
    ]


def violated_assumptions_of_run(facts: RunFacts, history: History, sizes: Mapping[str, int]) -> list[str]:
    """The same, and what contradicts run.json; `sizes`: bytes of each history file today."""
    violated = violated_assumptions(history)
    for name, size in facts.sizes.items():
        if sizes.get(name) != size:
            now = f"has {sizes[name]}" if name in sizes else "is gone"
            violated.append(f"{name} had {size} bytes when the run ended, and {now} now")
    violated += [
        f"{name} was not there when the run ended" for name in sizes if facts.sizes and name not in facts.sizes
    ]
    last_ns = next((event.t_ns for event in reversed(history.events) if event.event.startswith(_WORK)), 0)
    if not facts.faults_may_miss:
        violated += _sparing_the_record(_strikes_without_work(facts.strikes, max(last_ns, history.last_end_ns or 0)))
    seen = [name for name, size in sizes.items() if size]
    violated += _sparing_the_record(_never_seen(facts.strikes, history, seen))
    violated += _told_otherwise(facts.strikes, history)
    violated += _crashes_told_otherwise(facts, history)
    return violated


def told_by_the_wrong_source(foreign_words: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Processes of the system that report what only clients, the outside resource or the lab can know."""
    for file, names in sorted(foreign_words.items()):
        shown = ", ".join(sorted(names)[:SHOWN])
        yield f"{file} was written by a process of the system, and tells of what it cannot know: {shown}"


def _strikes_without_work(strikes: Iterable[FaultRecord], last_ns: int) -> Iterator[str]:
    for strike in strikes:
        fault = f"fault {strike.fault} on {strike.target}"
        if strike.problem:
            continue  # the run says it itself
        if strike.bit_ns is None or strike.healed_ns is None:
            yield f"{fault} has no time at which it bit and was healed"
        elif strike.bit_ns > last_ns:
            yield f"{fault} bit when all work was done"


def _never_seen(strikes: Iterable[FaultRecord], history: History, files: Collection[str]) -> Iterator[str]:
    """A process that was struck instead of the one that did the work.

    Use file names too, because a prefiltered history lacks events. A worker may be idle for a run if others took all tasks.
    """
    of_handlers = [
        one for one in strikes if one.stopped_process and _HANDLER_ROLE in one.roles and one.bit_ns is not None
    ]
    if not of_handlers:
        return
    actors = {event.actor for event in history.events if event.event not in _TOLD_OF_PROCESSES}
    for strike in of_handlers:
        if strike.target in actors:
            continue
        if not any(file.startswith(f"history.{strike.target}.") for file in files):
            yield f"fault {strike.fault} struck {strike.target}, of which nothing was ever seen"


def _told_otherwise(strikes: Collection[FaultRecord], history: History) -> Iterator[str]:
    """Steps of strikes that are in the history and not in run.json, or the other way round."""
    of_faults = [one for one in history.events if one.fault is not None]
    for event, instant, words in _STEPS:
        stated = Counter((strike.fault, strike.target) for strike in strikes if getattr(strike, instant) is not None)
        told = Counter((str(one.fault), str(one.target)) for one in of_faults if one.event == event)
        for fault, target in sorted(stated.keys() | told.keys()):
            in_run, in_history = stated[fault, target], told[fault, target]
            if in_run != in_history:
                yield f"fault {fault} on {target} {words} {in_run} times in run.json, {in_history} times in the history"


def _crashes_told_otherwise(facts: RunFacts, history: History) -> Iterator[str]:
    """Deaths that the lab has not seen: a crash excuses a repeat, so a system must not write its own."""
    if facts.died is None:
        return  # an earlier version did not count
    seen = Counter(facts.died)
    seen.update(one.target for one in facts.strikes if one.ended_process and one.bit_ns is not None)
    told = Counter({actor: len(crashes) for actor, crashes in history.crashes.items()})
    for actor in sorted(seen.keys() | told.keys()):
        if seen[actor] != told[actor]:
            yield f"{actor} crashed {told[actor]} times in the history, and the lab saw {seen[actor]}"


def _acted_unseen(timeline: TaskTimeline) -> bool:
    return bool(timeline.effects) and not timeline.attempts


def _ran_early(timeline: TaskTimeline) -> bool:
    """Of a task that was submitted at all: whether an attempt began before that."""
    if not timeline.submissions or not timeline.attempts:
        return False
    return timeline.attempts[0].started_ns < min(event.t_ns for event in timeline.submissions)


def _of_account(what: str, tasks: Iterable[str]) -> Iterator[str]:
    return _sparing_the_record(_said(what, tasks))


def _sparing_the_record(sentences: Iterable[str]) -> Iterator[str]:
    return (ViolatedAssumption(sentence, spares_record=True) for sentence in sentences)


def _said(what: str, tasks: Iterable[str]) -> Iterator[str]:
    """One sentence for all tasks that show this, or none."""
    found = sorted(tasks)
    if found:
        more = f" (and {len(found) - SHOWN} more)" if len(found) > SHOWN else ""
        yield f"{', '.join(found[:SHOWN])}{more}: {what}"
