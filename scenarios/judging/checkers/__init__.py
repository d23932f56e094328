"""The checkers: one promise a file, of the same name; each a pure function over a history (docs/guarantees.md)."""

from collections.abc import Callable, Mapping

from scenarios.judging.checkers import (
    cancel_honoured,
    coalesced_submission_runs,
    concurrency_bounded,
    dead_letter_if_exhausted,
    deadline_honoured,
    denied_only_when_full,
    due_in_time,
    duplicates_explained,
    effect_at_most_once,
    exactly_one_effect,
    execution_rate_respected,
    fenced_writes,
    idempotent_submission,
    legal_transitions,
    no_lost_task,
    no_phantom_task,
    no_stuck_task,
    not_before_due,
    nothing_leaked,
    order_kept,
    outbox_atomic,
    outcome_reported,
    pause_honoured,
    poison_bounded,
    priority_bounded,
    progress_monotonic,
    rate_limit_respected,
    recovers_in_time,
    result_truthful,
    retry_schedule,
    schedule_kept,
    single_holder,
    starts_in_time,
    status_truthful,
)
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Findings
from scenarios.record.history import History

Checker = Callable[[History, Policy], Findings]

CHECKERS: Mapping[Guarantee, Checker] = {
    Guarantee.NO_LOST_TASK: no_lost_task.check,
    Guarantee.NO_STUCK_TASK: no_stuck_task.check,
    Guarantee.NO_PHANTOM_TASK: no_phantom_task.check,
    Guarantee.EXACTLY_ONE_EFFECT: exactly_one_effect.check,
    Guarantee.EFFECT_AT_MOST_ONCE: effect_at_most_once.check,
    Guarantee.DUPLICATES_EXPLAINED: duplicates_explained.check,
    Guarantee.LEGAL_TRANSITIONS: legal_transitions.check,
    Guarantee.DEAD_LETTER_IF_EXHAUSTED: dead_letter_if_exhausted.check,
    Guarantee.RETRY_SCHEDULE: retry_schedule.check,
    Guarantee.POISON_BOUNDED: poison_bounded.check,
    Guarantee.SINGLE_HOLDER: single_holder.check,
    Guarantee.FENCED_WRITES: fenced_writes.check,
    Guarantee.RATE_LIMIT_RESPECTED: rate_limit_respected.check,
    Guarantee.PROGRESS_MONOTONIC: progress_monotonic.check,
    Guarantee.STATUS_TRUTHFUL: status_truthful.check,
    Guarantee.OUTBOX_ATOMIC: outbox_atomic.check,
    Guarantee.IDEMPOTENT_SUBMISSION: idempotent_submission.check,
    Guarantee.CANCEL_HONOURED: cancel_honoured.check,
    Guarantee.DEADLINE_HONOURED: deadline_honoured.check,
    Guarantee.PAUSE_HONOURED: pause_honoured.check,
    Guarantee.NOT_BEFORE_DUE: not_before_due.check,
    Guarantee.DUE_IN_TIME: due_in_time.check,
    Guarantee.PRIORITY_BOUNDED: priority_bounded.check,
    Guarantee.ORDER_KEPT: order_kept.check,
    Guarantee.RECOVERS_IN_TIME: recovers_in_time.check,
    Guarantee.NOTHING_LEAKED: nothing_leaked.check,
    Guarantee.OUTCOME_REPORTED: outcome_reported.check,
    Guarantee.CONCURRENCY_BOUNDED: concurrency_bounded.check,
    Guarantee.STARTS_IN_TIME: starts_in_time.check,
    Guarantee.RESULT_TRUTHFUL: result_truthful.check,
    Guarantee.COALESCED_SUBMISSION_RUNS: coalesced_submission_runs.check,
    Guarantee.SCHEDULE_KEPT: schedule_kept.check,
    Guarantee.DENIED_ONLY_WHEN_FULL: denied_only_when_full.check,
    Guarantee.EXECUTION_RATE_RESPECTED: execution_rate_respected.check,
}
"""The checker of every promise."""
