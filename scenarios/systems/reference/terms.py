"""The terms of the reference in the lab: its settings there, and the claims, policy, pace and reservations that follow from settings."""

from collections.abc import Mapping
from typing import Any

from reference_impl.settings import Settings
from scenarios.contract.system import Pace
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import Policy

INSIDE = f"{__package__}.inside"

BUDGET_S = 20.0
"""How long the system may take to recover after the last fault."""

# Small enough for a scenario of seconds; each duration keeps its margin (reference_impl.settings).
LAB = Settings(
    handlers=f"{INSIDE}:handle",
    leader_jobs=f"{INSIDE}:leader_jobs",
    observer=f"{INSIDE}:observer",
    worker_slots=2,
    lease_s=2.0,
    heartbeat_s=0.4,
    attempts_max=4,
    delay_min_s=0.2,
    delay_max_s=2.0,
    relay_idle_s=0.02,
    relay_claim_s=3.0,
    confirm_timeout_s=2.0,
    sweep_s=0.25,
    lock_ttl_s=1.5,
    undelivered_after_s=5.0,
    io_timeout_s=2.0,
    result_bytes_max=256 * 1024,
    new_tasks_per_minute=1000,
    drain_s=3.0,
)

CLAIMS = frozenset(
    {
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.NO_PHANTOM_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.EFFECT_AT_MOST_ONCE,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.LEGAL_TRANSITIONS,
        Guarantee.DEAD_LETTER_IF_EXHAUSTED,
        Guarantee.POISON_BOUNDED,
        Guarantee.SINGLE_HOLDER,
        Guarantee.FENCED_WRITES,
        Guarantee.PROGRESS_MONOTONIC,
        Guarantee.STATUS_TRUTHFUL,
        Guarantee.OUTBOX_ATOMIC,
        Guarantee.IDEMPOTENT_SUBMISSION,
        Guarantee.CANCEL_HONOURED,
        Guarantee.DEADLINE_HONOURED,
        Guarantee.RECOVERS_IN_TIME,
        Guarantee.RETRY_SCHEDULE,
        Guarantee.OUTCOME_REPORTED,
        Guarantee.LEASE_KEPT,
        Guarantee.NOT_DONE_AFTER_DEADLINE,
        Guarantee.RESULT_TRUTHFUL,
    }
)
"""Not claimed: features that do not exist yet, and nothing_leaked where nothing is searched for."""

CAPABILITIES = frozenset({"submit", "status", "key", "cancel", "deadline", "redrive", "result", "sentinels"})

RESERVATIONS: Mapping[str, frozenset[Guarantee]] = {
    fault: frozenset({Guarantee.SINGLE_HOLDER})
    for fault in ("redis_failed_over", "keys_flushed", "keys_evicted", "service_restarted_empty")
}
"""After any of these Redis may have lost a lock, which then has two holders (reference_impl.fast.lock); the fence protects the data."""


REST_ON: Mapping[str, frozenset[Guarantee]] = {
    "fence": frozenset({Guarantee.FENCED_WRITES}),
    "lock": frozenset({Guarantee.SINGLE_HOLDER}),
}
"""The promises that rest on one safety net alone, by net; every other promise is kept without it, too."""

NEVER_S = 3600.0
"""Longer than any run: undelivered tasks are never enqueued again."""


JITTER_MAX = 0.25
"""The share by which a delay is lengthened at most."""
RETRY_WAIT_S = 8.0
"""How long a retry that is due may wait for the relay, the broker and a free worker. Never shorter than its delay: that is exact."""
STANDSTILL_S = 3.0
"""For how long a machine may stand still: a lease is renewed several times while it lasts, and surely once in so much longer."""
TOLERANCE_S = 0.1
"""By how much clocks of one machine may differ."""


def policy_of(settings: Settings) -> Policy:
    """The limits that follow from the settings."""
    return Policy(
        attempts_max=settings.attempts_max,
        delays_s=_delays_s(settings),
        tolerance_s=TOLERANCE_S,
        budget_s=BUDGET_S,
        dead_letters=True,
        renew_s=settings.lease_s + STANDSTILL_S,
        ends_at_deadline=True,
    )


def documented_delays_s(settings: Settings) -> tuple[tuple[float, float], ...]:
    """Least and most time from each failure to its retry's due time, as the reference documents it.

    Not as its code computes it: else a wrong computation would be held against itself.
    """
    leasts_s = (
        min(settings.delay_max_s, settings.delay_min_s * 2 ** (retry - 1)) for retry in range(1, settings.attempts_max)
    )
    return tuple((least_s, least_s * (1 + JITTER_MAX)) for least_s in leasts_s)


def _delays_s(settings: Settings) -> tuple[tuple[float, float], ...]:
    return tuple((least_s, most_s + RETRY_WAIT_S) for least_s, most_s in documented_delays_s(settings))


def pace_of(settings: Settings) -> Pace:
    """The pace that follows from the settings.

    Longest pause: a lease expires, then its message is not delivered and the task is enqueued again; a few sweeps later nothing is pending.
    Or a retry is due and waits as long as it may: a task that is pending at the end then waits for no retry any more.
    """
    undelivered_s = settings.undelivered_after_s if has_safety_net(settings) else 0.0
    longest_retry_s = max((most_s for _, most_s in _delays_s(settings)), default=0.0) + TOLERANCE_S
    quiet_s = max(settings.lease_s + undelivered_s, longest_retry_s) + 2.0
    return Pace(quiet_s=quiet_s, lease_s=settings.lease_s, lock_s=settings.lock_ttl_s)


def has_safety_net(settings: Settings) -> bool:
    """Whether undelivered tasks are enqueued again within the recovery budget."""
    return settings.undelivered_after_s <= BUDGET_S


def replace_settings(settings: Settings, **changes: Any) -> Settings:
    """A copy of the settings with some of them changed."""
    return Settings(**{**{name: getattr(settings, name) for name in settings.__struct_fields__}, **changes})
