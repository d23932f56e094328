"""What disturbs a worker, as checkers see it: crashes, pauses, faults between it and the broker or the store. Pure."""

import re
from bisect import bisect_left
from functools import lru_cache

from scenarios.record.history import Event, FaultSpan, History, earliest_ns

_NETWORK_OR_STORE = r"network|partition|proxy|database|mysql|mariadb|postgres|sqlite|redis|sentinel|valkey"
_BETWEEN_WORKER_AND_TASK = re.compile(
    rf"broker|rabbit|amqp|kafka|{_NETWORK_OR_STORE}|\b(?:db|net|nats|sqs|link|connection|packet|ack|confirm)s?\b"
)
_BETWEEN_LIMITER_AND_COUNTERS = re.compile(
    rf"cache|memcache|{_NETWORK_OR_STORE}|\b(?:db|net|link|connection|packet)s?\b"
)
_PAUSE_WORDS = re.compile(r"paus|froz|freez|suspend|sigstop|stopped")


def cuts_worker_off(span: FaultSpan) -> bool:
    """Whether this fault affects broker, network or database: as its event states, else by the words of its name and target."""
    if span.excuses is not None:
        return span.excuses == "disturbance"
    return _matches(_BETWEEN_WORKER_AND_TASK, _words(span))


def cuts_limiter_off(span: FaultSpan) -> bool:
    """Whether this fault affects cache, database or network, by the words of its name and target."""
    return _matches(_BETWEEN_LIMITER_AND_COUNTERS, _words(span))


@lru_cache(maxsize=1024)
def _matches(pattern: re.Pattern[str], words: str) -> bool:
    """Cached, because every repeat that a fault overlaps asks for the same name."""
    return pattern.search(words) is not None


def _words(span: FaultSpan) -> str:
    return f"{span.fault} {span.target}".lower().replace("_", " ")


def was_paused(history: History, actor: str, from_ns: int, until_ns: int) -> bool:
    """Whether this process was seen paused at any instant of this time, bounds included."""
    return any(
        span.bit_ns is not None and span.bit_ns <= until_ns and span.healed_ns >= from_ns
        for span in pauses_of_process(history, actor)
    )


def pauses_of_process(history: History, actor: str) -> list[FaultSpan]:
    """The faults that paused this process."""
    return [span for span in history.faults if span.target == actor and _pauses_process(span)]


def _pauses_process(span: FaultSpan) -> bool:
    """Whether this fault pauses a process: as its event states, else by the words of its name."""
    if span.excuses is not None:
        return span.excuses == "pause"
    return _matches(_PAUSE_WORDS, span.fault.lower())


def first_crash(history: History, actor: str, from_ns: int, until_ns: int) -> Event | None:
    """The actor's first crash that may lie in this time, bounds included."""
    crashes = history.crashes.get(actor, [])
    first = bisect_left(crashes, from_ns, key=lambda crash: crash.t_ns)
    return crashes[first] if first < len(crashes) and earliest_ns(crashes[first]) <= until_ns else None


def first_crash_ns(history: History, actor: str, from_ns: int, until_ns: int) -> int | None:
    """The earliest possible instant of the actor's first crash in this time, bounds included; None: no crash."""
    crash = first_crash(history, actor, from_ns, until_ns)
    return None if crash is None else max(from_ns, earliest_ns(crash))
