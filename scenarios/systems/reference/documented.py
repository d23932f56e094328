"""What the reference documents beyond its promises, held against the tables and the history of a finished world.

Exact, because a world has one clock. Each function returns a sentence for each contradiction.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from chaos.simulation.kernel.clock import EPOCH_NS
from reference_impl.loops.relay import UNROUTABLE_DELAY_S
from reference_impl.rows.database_clock import US_PER_S, microseconds
from reference_impl.rows.dead_letter import REDRIVEN
from reference_impl.rows.outbox import SENT
from reference_impl.rows.schema import audit, dead_letters, outbox, tasks
from reference_impl.settings import Settings
from reference_impl.task import HELD, TaskState
from scenarios.contract.tasklab_probe import TOLD_TO_STOP
from scenarios.judging.disturbances import first_crash_ns
from scenarios.record.history import FOREVER_NS, AttemptRecord, History, TaskTimeline, ns_of
from scenarios.simulated.inspection import Inspection
from scenarios.simulated.worlds.unusual import is_quick
from scenarios.systems.reference.counted import wrong_counts
from scenarios.systems.reference.probe import SWEEP, SWEPT
from scenarios.systems.reference.rows import US_TO_NS
from scenarios.systems.reference.terms import documented_delays_s

SLACK_S = 0.3
"""How much later than a lease or a heartbeat something may happen in a world whose answers are quick."""
LED_S = 1.0
"""In that time a leader has begun its first sweep."""
BEFORE_S = 0.05
"""For how long before a transaction is written a fault may have hindered it."""
UNSETTLED_S = 2.0
"""For how long after a fault it may still hinder a claim or a heartbeat."""

_ROWS = select(audit, tasks.c.payload).join(tasks, tasks.c.id == audit.c.task_id).order_by(audit.c.id)
_DELAYED = (
    select(outbox.c.task_id, outbox.c.created_us, outbox.c.available_us)
    .where(outbox.c.available_us > outbox.c.created_us)
    .order_by(outbox.c.id)
)
_SENT_UNTIMED = select(outbox.c.id).where(outbox.c.status == SENT, outbox.c.sent_us.is_(None))
_HANDLED = select(dead_letters.c.id, dead_letters.c.handled_how).where(dead_letters.c.handled_us.is_not(None))


@dataclass(frozen=True, slots=True)
class _Life:
    """The audit rows of one task, in order; `claims`: those by which an attempt got it. `asks`: whether its handler asks to stop."""

    task: str
    asks: bool
    rows: Sequence[Any]
    claims: Sequence[Any]

    def spent(self, row: Any) -> int:
        """The number of attempts up to that row since the last redrive before it."""
        redriven = [one.attempt for one in self.rows if one.from_status == TaskState.DEAD and one.id < row.id]
        return int(row.attempt) - (redriven[-1] if redriven else 0)


def contradictions(inspection: Inspection, settings: Settings, settled: Counter[str]) -> list[str]:
    """What this world contradicts of what the reference documents; of its waits only where its answers come quickly, faults apart.

    `settled`: the attempts that the metrics count as settled, by outcome.
    """
    history = inspection.history
    with inspection.engine.connect() as connection:
        lives = _lives(connection)
        found = [*_misnumbered(lives), *_misreported(lives, history), *_delays(connection, lives, settings)]
        found += [*_buried_early(lives, settings), *_without_fence(lives, history), *_untold(connection)]
    stoppable = [life for life in lives.values() if life.asks]
    found += _stopped_for_nothing(stoppable, history)
    if is_quick(inspection.plan.delays):
        found += _never_started(lives, history, settings)
        found += _never_told(stoppable, history, settings)
        found += _never_acknowledged(history, settings)
        found += _led_without_jobs(history)
        found += _miscounted(lives, history, settled)
    return found


def _lives(connection: Connection) -> dict[str, _Life]:
    rows: dict[str, list[Any]] = {}
    for row in connection.execute(_ROWS):
        rows.setdefault(row.task_id, []).append(row)
    return {id_: _life(own) for id_, own in rows.items()}


def _life(rows: Sequence[Any]) -> _Life:
    payload = json.loads(rows[0].payload)
    claims = [row for row in rows if row.to_status == TaskState.RUNNING and row.from_status not in HELD]
    return _Life(str(payload["task"]), bool(payload.get("stops")), rows, claims)


def _misnumbered(lives: dict[str, _Life]) -> Iterator[str]:
    """Attempts are numbered 1, 2, 3 and so on over the whole life of a task."""
    for life in lives.values():
        numbers = [row.attempt for row in life.claims]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"the attempts at {life.task} are numbered {numbers}"


def _misreported(lives: dict[str, _Life], history: History) -> Iterator[str]:
    """A handler gets the number that its worker got with the claim."""
    claimed = {(life.task, row.actor, row.attempt) for life in lives.values() for row in life.claims}
    for timeline in history.tasks.values():
        for attempt in timeline.attempts:
            if (attempt.task, attempt.actor, attempt.number) not in claimed:
                yield f"{attempt.actor} started {attempt.task} as attempt {attempt.number}, which it had not claimed"


def _buried_early(lives: dict[str, _Life], settings: Settings) -> Iterator[str]:
    """No task is dead before its attempts are used up."""
    for life in lives.values():
        for row in life.rows:
            if row.to_status == TaskState.DEAD and life.spent(row) < settings.attempts_max:
                yield f"{life.task} is dead after {life.spent(row)} of {settings.attempts_max} attempts"


def _without_fence(lives: dict[str, _Life], history: History) -> Iterator[str]:
    """A handler gets the fence of its claim."""
    fences = {(life.task, row.fence) for life in lives.values() for row in life.claims}
    for timeline in history.tasks.values():
        for effect in timeline.effects:
            if (timeline.task, effect.fence) not in fences:
                yield f"an effect of {timeline.task} has the fence {effect.fence}, which no claim of it has"


def _untold(connection: Connection) -> Iterator[str]:
    """What an operator reads: when a message was sent, and how a letter was handled."""
    for row in connection.execute(_SENT_UNTIMED):
        yield f"message {row.id} of the outbox was sent, and does not say when"
    for row in connection.execute(_HANDLED):
        if row.handled_how != REDRIVEN:
            yield f"letter {row.id} was handled by {row.handled_how!r}"


def _never_acknowledged(history: History, settings: Settings) -> Iterator[str]:
    """The message of an attempt that has ended is acknowledged, and the observer told, unless something came between."""
    for timeline in history.tasks.values():
        for attempt in timeline.attempts:
            if attempt.ended_ns is None or attempt.ack is not None:
                continue
            until_ns = attempt.ended_ns + ns_of(settings.lease_s + SLACK_S)
            if not _is_struck(history, attempt.started_ns - ns_of(BEFORE_S), until_ns):
                yield f"attempt {attempt.number} at {timeline.task} was not acknowledged"


def _led_without_jobs(history: History) -> Iterator[str]:
    """A process that has become the leader runs its jobs."""
    written = [*history.writes.get(SWEPT, ()), *history.refused_writes.get(SWEPT, ())]
    for lease in history.leases.get(SWEEP, ()):
        until_ns = lease.t_ns + ns_of(LED_S)
        if (
            lease.event == "lease.acquired"
            and not _is_disturbed(history, lease.t_ns, until_ns)
            and not any(one.actor == lease.actor and lease.t_ns <= one.t_ns <= until_ns for one in written)
        ):
            yield f"{lease.actor} led from {lease.t_ns / 1e9:.3f} s and ran no job"


def _miscounted(lives: dict[str, _Life], history: History, settled: Counter[str]) -> Iterator[str]:
    def is_disturbed(row: Any) -> bool:
        at_ns = row.at_us * US_TO_NS - EPOCH_NS
        return _is_struck(history, at_ns - ns_of(BEFORE_S), at_ns + ns_of(UNSETTLED_S))

    rows = [row for life in lives.values() for row in life.rows]
    workers = {row.actor for life in lives.values() for row in life.claims}
    return wrong_counts(rows, settled, is_disturbed, workers=sorted(workers))


def _delays(connection: Connection, lives: dict[str, _Life], settings: Settings) -> list[str]:
    """A retry waits in the outbox for as long as documented, lengthened at random.

    A message may have been postponed, because the broker refused it: a longer time than that of a refusal proves nothing.
    """
    found, waited_us, least_us = [], [], []
    documented = documented_delays_s(settings)
    for message in connection.execute(_DELAYED):
        delay_us, life = message.available_us - message.created_us, lives.get(message.task_id)
        if life is None:
            continue  # its task has no rows: outbox_atomic
        failures = [row for row in life.rows if row.to_status == TaskState.RETRYING and row.at_us <= message.created_us]
        number = life.spent(failures[-1]) if failures else 0
        if delay_us >= UNROUTABLE_DELAY_S * US_PER_S or not 1 <= number <= len(documented):
            continue
        least, most = map(microseconds, documented[number - 1])
        waited_us.append(delay_us)
        least_us.append(least)
        if not least - 1 <= delay_us <= most + 1:
            found.append(f"retry {number} of {life.task} waits {delay_us / US_PER_S:g} s in the outbox")
    if len(waited_us) > 1 and waited_us == least_us:
        found.append(f"the delays of {len(waited_us)} retries have no jitter")
    return found


def _never_started(lives: dict[str, _Life], history: History, settings: Settings) -> Iterator[str]:
    """A worker that has claimed a task begins its attempt, unless the lease or the deadline ends before the answer to the claim comes."""
    for life in lives.values():
        timeline = history.tasks[life.task]
        for row in life.claims:
            claimed_ns = row.at_us * US_TO_NS - EPOCH_NS
            until_ns = claimed_ns + ns_of(settings.lease_s + SLACK_S)
            if not _is_started(timeline, row, claimed_ns) and not _is_excused(history, timeline, claimed_ns, until_ns):
                yield f"{row.actor} claimed {life.task} at {claimed_ns / 1e9:.3f} s and did not start it"


def _is_started(timeline: TaskTimeline, row: Any, claimed_ns: int) -> bool:
    return any(
        attempt.actor == row.actor and attempt.number == row.attempt and attempt.started_ns >= claimed_ns
        for attempt in timeline.attempts
    )


def _is_excused(history: History, timeline: TaskTimeline, from_ns: int, until_ns: int) -> bool:
    """Whether a deadline, a fault, a crash or the end of the world may have come between."""
    deadline_ns = timeline.earliest_deadline_ns
    return (deadline_ns is not None and deadline_ns <= until_ns) or _is_disturbed(history, from_ns, until_ns)


def _is_disturbed(history: History, from_ns: int, until_ns: int) -> bool:
    return _is_struck(history, from_ns - ns_of(UNSETTLED_S), until_ns)


def _is_struck(history: History, since_ns: int, until_ns: int) -> bool:
    """Whether a fault or a crash overlaps this time, or the world ends in it."""
    return (
        until_ns >= history.end_ns
        or any(since_ns <= crash.t_ns <= until_ns for crashes in history.crashes.values() for crash in crashes)
        or any(span.overlaps(since_ns, until_ns) for span in history.faults)
    )


def _stopped_for_nothing(lives: Sequence[_Life], history: History) -> Iterator[str]:
    """A handler is told to stop only if its task was cancelled, or is no longer held by its attempt."""
    stopped = {(one.task, one.actor, one.t_ns) for one in history.events if (one.detail or "").endswith(TOLD_TO_STOP)}
    for life in lives:
        cancelled = [one.t_ns for one in history.events if one.event == "cancel.invoke" and one.task == life.task]
        for attempt in history.tasks[life.task].attempts:
            ended_ns = attempt.ended_ns
            if ended_ns is None or (life.task, attempt.actor, ended_ns) not in stopped:
                continue
            if min([*cancelled, *_lost_ns(life, attempt)], default=FOREVER_NS) > ended_ns:
                yield f"attempt {attempt.number} at {life.task} was told to stop for no reason"


def _never_told(lives: Sequence[_Life], history: History, settings: Settings) -> Iterator[str]:
    """A handler that asks learns with a heartbeat that its task was cancelled, or that another process took or ended it."""
    for life in lives:
        timeline = history.tasks[life.task]
        # With a detail it is no answer of the API: the request or the answer was lost.
        asked = [
            one.t_ns
            for one in history.events
            if one.event == "cancel.info" and one.task == life.task and one.detail is None
        ]
        for attempt in timeline.attempts:
            for reason_ns in [*asked, *_lost_ns(life, attempt)]:
                since_ns = max(reason_ns, attempt.started_ns)
                until_ns = since_ns + ns_of(2 * settings.heartbeat_s + SLACK_S)
                died_ns = first_crash_ns(history, attempt.actor, attempt.started_ns, until_ns)
                is_over = died_ns is not None or (attempt.ended_ns is not None and attempt.ended_ns <= until_ns)
                if not is_over and not _is_disturbed(history, since_ns, until_ns):
                    yield f"attempt {attempt.number} at {life.task} was not told to stop"


def _lost_ns(life: _Life, attempt: AttemptRecord) -> list[int]:
    """When another process than the worker of this attempt moved its task."""
    claims = [row for row in life.claims if (row.actor, row.attempt) == (attempt.actor, attempt.number)]
    return [
        row.at_us * US_TO_NS - EPOCH_NS
        for claim in claims
        for row in life.rows
        if row.id > claim.id and row.actor != attempt.actor
    ]
