"""The promises that a task system may claim: one name and one sentence each. The meaning of a name never changes."""

import enum


class Guarantee(enum.StrEnum):
    """A promise by name; `sentence` states it. The checker module of the same name judges it."""

    sentence: str

    def __new__(cls, name: str, sentence: str) -> "Guarantee":
        """A string (the name in scripts and JSON) with its sentence."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.sentence = sentence
        return member

    NO_LOST_TASK = (
        "no_lost_task",
        "Every acknowledged submission is done, dead, cancelled, expired or still pending at the end; none vanished.",
    )
    NO_STUCK_TASK = (
        "no_stuck_task",
        "After healing, every accepted task reaches a final state within the stated budget.",
    )
    NO_PHANTOM_TASK = (
        "no_phantom_task",
        "No task runs that was never submitted, or whose submission surely failed.",
    )
    EXACTLY_ONE_EFFECT = (
        "exactly_one_effect",
        "Each succeeded task has exactly one accepted effect per step.",
    )
    EFFECT_AT_MOST_ONCE = (
        "effect_at_most_once",
        "No task has two accepted effects of one step.",
    )
    DUPLICATES_EXPLAINED = (
        "duplicates_explained",
        "Every repeated attempt has a cause in the history: lost ack, lease expiry, restart, retry, redrive.",
    )
    LEGAL_TRANSITIONS = (
        "legal_transitions",
        "State changes follow the life cycle; a task leaves a final state only by a person's redrive.",
    )
    DEAD_LETTER_IF_EXHAUSTED = (
        "dead_letter_if_exhausted",
        "A task is dead if and only if its attempts are used up or its error is permanent.",
    )
    RETRY_SCHEDULE = (
        "retry_schedule",
        "Attempts and the delays between them stay within the stated policy.",
    )
    POISON_BOUNDED = (
        "poison_bounded",
        "A task that kills its worker is tried at most attempts_max times.",
    )
    SINGLE_HOLDER = (
        "single_holder",
        "A lease is acquired only after the previous holder released it or it expired.",
    )
    FENCED_WRITES = (
        "fenced_writes",
        "After a write with a newer fence was accepted, no write with an older fence is.",
    )
    RATE_LIMIT_RESPECTED = (
        "rate_limit_respected",
        "Never more than n submissions are allowed per user and stated window.",
    )
    PROGRESS_MONOTONIC = (
        "progress_monotonic",
        "Progress never goes back within an attempt.",
    )
    STATUS_TRUTHFUL = (
        "status_truthful",
        "A status answer is never ahead of the facts, and in the end equals them.",
    )
    OUTBOX_ATOMIC = (
        "outbox_atomic",
        "For each task, the row and the message exist both or, in the end, neither.",
    )
    IDEMPOTENT_SUBMISSION = (
        "idempotent_submission",
        "One key, one task, one id in every answer.",
    )
    CANCEL_HONOURED = (
        "cancel_honoured",
        "A cancelled task does not start, has no effect and does not end as done.",
    )
    DEADLINE_HONOURED = (
        "deadline_honoured",
        "A task does not start after its deadline.",
    )
    PAUSE_HONOURED = (
        "pause_honoured",
        "A paused task does not start until it is resumed.",
    )
    NOT_BEFORE_DUE = (
        "not_before_due",
        "A scheduled task does not start before its time.",
    )
    DUE_IN_TIME = (
        "due_in_time",
        "A scheduled task starts within the stated tolerance after its time.",
    )
    PRIORITY_BOUNDED = (
        "priority_bounded",
        "No priority class starves another.",
    )
    ORDER_KEPT = (
        "order_kept",
        "Tasks of one ordering key start, or run one after the other, in the order of their submission.",
    )
    RECOVERS_IN_TIME = (
        "recovers_in_time",
        "After healing, the system catches up within the stated budget.",
    )
    NOTHING_LEAKED = (
        "nothing_leaked",
        "No canary (a secret in a payload) appears in rows, logs, metrics or reports.",
    )
    OUTCOME_REPORTED = (
        "outcome_reported",
        "A task that ended is in the system's own list, and is read as ended, within the stated budget.",
    )
    CONCURRENCY_BOUNDED = (
        "concurrency_bounded",
        "At no instant do more than n attempts of one scope, order key or user run.",
    )
    STARTS_IN_TIME = (
        "starts_in_time",
        "A task starts within the stated wait after it was accepted, or after its time.",
    )
    RESULT_TRUTHFUL = (
        "result_truthful",
        "A result that is read is the one that a successful attempt returned.",
    )
    COALESCED_SUBMISSION_RUNS = (
        "coalesced_submission_runs",
        "A submission coalesced into a task that has already started is followed by another start.",
    )
    SCHEDULE_KEPT = (
        "schedule_kept",
        "Each occurrence of a schedule comes exactly once; missed occurrences, as the policy states.",
    )
    DENIED_ONLY_WHEN_FULL = (
        "denied_only_when_full",
        "A rate limit denies only while its stated window is full.",
    )
    LEASE_KEPT = (
        "lease_kept",
        "While an attempt works, its lease is renewed at least as often as stated.",
    )
    NOT_DONE_AFTER_DEADLINE = (
        "not_done_after_deadline",
        "A task that has not succeeded by its deadline does not end as done.",
    )
    EXECUTION_RATE_RESPECTED = (
        "execution_rate_respected",
        "Never more than n attempts start per stated window, retries included.",
    )
