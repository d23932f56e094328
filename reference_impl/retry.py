"""When a failed attempt is tried again: which failures heal, and how long to wait. Pure."""

from dataclasses import dataclass
from typing import Literal

from reference_impl.errors import PermanentFailure, TaskFailure, TransientFailure
from reference_impl.ports import Entropy

MESSAGE_CHARACTERS_MAX = 500
DOUBLINGS_MAX = 60
"""Beyond, every delay has long been the greatest, and a float overflows after a thousand."""

FailureKind = Literal["transient", "permanent", "unknown"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently: delays double from `delay_min_s` up to `delay_max_s`, each stretched by up to `jitter`."""

    attempts_max: int = 5
    delay_min_s: float = 2.0
    delay_max_s: float = 60.0
    jitter: float = 0.25

    def bounds_s(self, attempt: int) -> tuple[float, float]:
        """Least and most seconds between the failure of attempt number `attempt` (from 1) and the next attempt."""
        doublings = min(attempt - 1, DOUBLINGS_MAX)
        least = min(self.delay_max_s, self.delay_min_s * 2.0**doublings)
        return least, least * (1.0 + self.jitter)


@dataclass(frozen=True, slots=True)
class Failure:
    """What is kept of a failed attempt: its kind, the error's class, and a message fit for the eyes of others."""

    kind: FailureKind
    error_class: str
    message: str


def delay_s(attempt: int, policy: RetryPolicy, entropy: Entropy) -> float:
    """How long to wait after failed attempt number `attempt` (from 1).

    Exponential with a floor, so that a schedule can be stated and judged; the jitter keeps a herd of failures apart.
    """
    return entropy.uniform(*policy.bounds_s(attempt))


def classify(error: BaseException) -> Failure:
    """What an error raised by a handler means for the task.

    Connection errors and time-outs may heal. What nobody classified is `unknown`, and retried like a transient failure: the
    attempts are bounded, and a task dropped at the first odd error cannot be got back. Only the messages of our own failure
    classes are kept, because their authors know that they are shown; any other may carry a token or a person's data.
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
    """Bounded, and nothing that a database cannot keep: a failure that cannot be written down would end the worker."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 — a handler's own class may do anything
        return ""
    return message[:MESSAGE_CHARACTERS_MAX].encode(errors="replace").decode()
