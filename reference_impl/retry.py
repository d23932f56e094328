"""When a failed attempt is tried again: which failures heal, and how long to wait. Pure."""

from dataclasses import dataclass
from typing import Literal

from reference_impl.errors import PermanentFailure, TaskFailure, TransientFailure
from reference_impl.ports import Entropy

MESSAGE_CHARACTERS_MAX = 500

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
        least = min(self.delay_max_s, self.delay_min_s * 2.0 ** (attempt - 1))
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
        return Failure("permanent", name, str(error)[:MESSAGE_CHARACTERS_MAX])
    if isinstance(error, TransientFailure):
        return Failure("transient", name, str(error)[:MESSAGE_CHARACTERS_MAX])
    if isinstance(error, (ConnectionError, TimeoutError)):
        return Failure("transient", name, "")
    if isinstance(error, TaskFailure):
        return Failure("unknown", name, str(error)[:MESSAGE_CHARACTERS_MAX])
    return Failure("unknown", name, "")
