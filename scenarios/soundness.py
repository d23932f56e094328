"""What the record of a run must bear out before anything in it is held: ends with a cause, starts after submissions, whole files. Pure.

Only of runs of the lab's own, real or simulated: the lab knows what its clients asked for, how it records, and what it struck. A foreign
history may leave all of that out (docs/history.md), and is judged as it is.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from scenarios.history import History, Timeline

if TYPE_CHECKING:
    from scenarios.rundir import RunFacts, Strike

SHOWN = 3
"""So many tasks are named, of all that show the same."""

_WORK = ("submit.", "attempt.", "effect", "ack.", "state", "dead", "lease.", "write")
"""How the names of events begin that show a system at work."""


def doubts_of_history(history: History) -> list[str]:
    """Why the record of a run of the lab's own cannot be believed, a sentence for each kind of doubt; none: it can."""
    tasks, final = history.tasks, history.final
    cancelled, expired, done = (final.cancelled or (), final.expired or (), final.done or ()) if final else ((), (), ())
    asked = {event.task for event in history.events if event.event.startswith("cancel.")} if cancelled else set()
    return [
        *_said("listed as cancelled, and nobody cancelled it", (task for task in cancelled if task not in asked)),
        *_said(
            "listed as expired, and had no deadline",
            (task for task in expired if task in tasks and tasks[task].deadline_s is None),
        ),
        *_said("listed as done, and never ran", (task for task in done if task in tasks and not tasks[task].ran)),
        *_said("an effect, and no attempt recorded", (task for task, line in tasks.items() if _acted_unseen(line))),
        *_said("ran before it was submitted", (task for task, line in tasks.items() if _ran_early(line))),
    ]


def doubts_of_run(facts: "RunFacts", history: History, sizes: Mapping[str, int]) -> list[str]:
    """The same, and what contradicts run.json; `sizes`: bytes of each history file today."""
    doubts = doubts_of_history(history)
    for name, size in facts.sizes.items():
        if sizes.get(name) != size:
            now = f"has {sizes[name]}" if name in sizes else "is gone"
            doubts.append(f"{name} had {size} bytes when the run ended, and {now} now")
    doubts += [f"{name} was not there when the run ended" for name in sizes if facts.sizes and name not in facts.sizes]
    last_ns = next((event.t_ns for event in reversed(history.events) if event.event.startswith(_WORK)), 0)
    doubts += _doubts_of_strikes(facts.strikes, max(last_ns, history.last_end_ns or 0))
    return doubts


def _doubts_of_strikes(strikes: Iterable["Strike"], last_ns: int) -> Iterator[str]:
    for strike in strikes:
        fault = f"fault {strike.fault} on {strike.target}"
        if strike.problem:
            continue  # the run says it itself
        if strike.bit_ns is None or strike.healed_ns is None:
            yield f"{fault} has no time at which it bit and was healed"
        elif strike.bit_ns > last_ns:
            yield f"{fault} bit when all work was done"


def _acted_unseen(timeline: Timeline) -> bool:
    return bool(timeline.effects) and not timeline.attempts


def _ran_early(timeline: Timeline) -> bool:
    """Of a task that was submitted at all: whether an attempt began before that."""
    if not timeline.submissions or not timeline.attempts:
        return False
    return timeline.attempts[0].started_ns < min(event.t_ns for event in timeline.submissions)


def _said(what: str, tasks: Iterable[str]) -> Iterator[str]:
    """One sentence for all tasks that show this, or none."""
    found = sorted(tasks)
    if found:
        more = f" (and {len(found) - SHOWN} more)" if len(found) > SHOWN else ""
        yield f"{', '.join(found[:SHOWN])}{more}: {what}"
