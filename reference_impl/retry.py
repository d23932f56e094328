"""Retries: how a failure is classified, and how long to wait before the next attempt. Pure."""

from dataclasses import dataclass
from typing import Literal

from reference_impl.errors import PermanentFailure, TaskFailure, TransientFailure
from reference_impl.ports import Entropy

DOUBLINGS_MAX = 60
"""Bound on the exponent: the delay reaches its maximum long before, and a float overflows after about a thousand doublings."""

FailureKind = Literal["transient", "permanent", "unknown"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Attempts and delays: the delay doubles from `delay_min_s` up to `delay_max_s`; each is lengthened by up to the share `jitter`."""

    attempts_max: int
    delay_min_s: float
    delay_max_s: float
    jitter: float = 0.25

    def bounds_s(self, attempt: int) -> tuple[float, float]:
        """Minimum and maximum seconds between the failure of attempt number `attempt` (from 1) and the next attempt."""
        doublings = min(attempt - 1, DOUBLINGS_MAX)
        least = min(self.delay_max_s, self.delay_min_s * 2.0**doublings)
        return least, least * (1.0 + self.jitter)


@dataclass(frozen=True, slots=True)
class Failure:
    """The stored part of a failure: kind, class of the error, and a message that is safe to show."""

    kind: FailureKind
    error_class: str
    message: str


def delay_s(attempt: int, policy: RetryPolicy, entropy: Entropy) -> float:
    """How long to wait after failed attempt number `attempt` (from 1).

    Exponential, with a lower bound, so that a schedule can be stated and checked. The jitter spreads retries of tasks that failed
    together.
    """
    return entropy.uniform(*policy.bounds_s(attempt))


def classify(error: BaseException) -> Failure:
    """The kind of an error raised by a handler, with the class name and a message to store.

    Connection errors and time-outs are transient. An unclassified error is `unknown` and retried like a transient one: attempts
    are bounded, and a task that was dropped at its first unusual error could not be recovered. Only the messages of our own failure
    classes are stored, because their authors know that users see them; any other message may contain a token or personal data.
    """
    name = type(error).__name__
    if isinstance(error, PermanentFailure):
        return Failure("permanent", name, _message(error))
    if isinstance(error, TransientFailure):
        return Failure("transient", name, _message(error))
    if isinstance(error, (ConnectionError, TimeoutError)):
        return Failure("transient", name, "")
    if isinstance(error, TaskFailure):
        return Failure("unknown", name, _message(error))
    return Failure("unknown", name, "")


def _message(error: TaskFailure) -> str:
    """The message, storable: a failure that the database cannot store would end the worker."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 — the __str__ of a handler's own class may raise anything
        return ""
    return message.encode(errors="replace").decode()
