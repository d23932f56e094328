"""Several submissions of one key, cancellations and deadlines that are not kept."""

from scenarios.judging.guarantees import Guarantee
from tests.anomalies.planting import UNTROUBLED_S, Expected, X, done
from tests.history_drafts import Draft


def one_key_two_ids(draft: Draft, at_s: float) -> Expected:
    """The same key answered with two ids (run once)."""
    for task in (X, "resubmitted"):
        draft.submit(at_s, task, key="key-x", user="user")
    draft.succeed(at_s + 1, X, "worker-x")
    done(draft)
    draft.lists["cancelled"].append("resubmitted")
    return {Guarantee.IDEMPOTENT_SUBMISSION: (X, "resubmitted")}


def one_key_two_effects(draft: Draft, at_s: float) -> Expected:
    """One id, but run as two tasks."""
    for task in (X, "resubmitted"):
        draft.submit(at_s, task, "info", key="key-x", user="user")
        draft.succeed(at_s + 1, task, "worker-x")
        done(draft, task)
    return {Guarantee.IDEMPOTENT_SUBMISSION: (X, "resubmitted")}


def starts_after_cancellation(draft: Draft, at_s: float) -> Expected:
    """Started after its cancellation was acknowledged."""
    draft.submit(at_s, X)
    draft.write(f"0.5 client cancel.ok {X}", from_s=at_s)
    draft.succeed(at_s + 1, X, "worker-x")
    draft.lists["cancelled"].append(X)
    return {Guarantee.CANCEL_HONOURED: (X,)}


def starts_after_its_deadline(draft: Draft, at_s: float) -> Expected:
    """Started after its deadline."""
    draft.submit(at_s, X, deadline_s=at_s + 0.5)
    draft.succeed(at_s + 1, X, "worker-x")
    done(draft)
    return {Guarantee.DEADLINE_HONOURED: (X,), Guarantee.NOT_DONE_AFTER_DEADLINE: (X,)}


def done_after_its_deadline(draft: Draft, at_s: float) -> Expected:
    """Started in time, done too late, and kept as a success all the same."""
    draft.submit(at_s, X, deadline_s=at_s + 2)
    draft.start(at_s + 1, X, "worker-x")
    draft.add(at_s + 5, "worker-x", "effect", task=X, attempt=1)
    draft.add(at_s + 5.1, "worker-x", "attempt.ok", task=X, attempt=1)
    done(draft)
    return {Guarantee.NOT_DONE_AFTER_DEADLINE: (X,)}


def expires_before_its_deadline(draft: Draft, at_s: float) -> Expected:
    """Expired long before its deadline."""
    draft.submit(at_s, X, deadline_s=at_s + 60)
    draft.write(f"0.5 database state {X} from=ACCEPTED to=EXPIRED", from_s=at_s)
    draft.lists["expired"].append(X)
    return {Guarantee.NOT_DONE_AFTER_DEADLINE: (X,)}


def starts_in_a_pause(draft: Draft, at_s: float) -> Expected:
    """Started during a pause, after its grace period."""
    at_s += UNTROUBLED_S
    draft.submit(at_s, X)
    draft.write("1 admin pause.ok", from_s=at_s)
    draft.succeed(at_s + 3, X, "worker-x")
    draft.write("9 admin resume.ok", from_s=at_s)
    done(draft)
    return {Guarantee.PAUSE_HONOURED: (X,)}


def folded_and_forgotten(draft: Draft, at_s: float) -> Expected:
    """Coalesced into a task that had already started, and no start follows."""
    fields = {"key": "key-x", "user": "user"}
    draft.submit(at_s, "running", **fields)
    draft.succeed(at_s + 1, "running", "worker-x")
    draft.add(at_s + 1.1, "client", "submit.invoke", task=X, **fields)
    draft.add(at_s + 1.2, "client", "submit.ok", task=X, id="id-running", **fields)
    done(draft, "running")
    return {Guarantee.COALESCED_SUBMISSION_RUNS: (X,)}


def cancelled_and_done(draft: Draft, at_s: float) -> Expected:
    """Its cancellation was promised while it ran; it had its effect, and is listed as done."""
    draft.submit(at_s, X)
    draft.start(at_s + 1, X, "worker-x")
    draft.add(at_s + 2, "client", "cancel.invoke", task=X)
    draft.add(at_s + 2.1, "client", "cancel.ok", task=X)
    draft.add(at_s + 5, "worker-x", "effect", task=X, attempt=1)
    draft.add(at_s + 5.1, "worker-x", "attempt.ok", task=X, attempt=1)
    done(draft)
    return {Guarantee.CANCEL_HONOURED: (X,)}
