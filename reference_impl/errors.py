"""What can go wrong in the reference system. Each class says `definite`: True = it surely did not happen, False = it may have.

ReferenceSystemError
├── DatabaseError
│   ├── DatabaseUnavailable     nothing was committed
│   └── CommitUnknown           the commit was sent and its answer never came
├── BrokerError
│   ├── BrokerUnavailable       no connection; nothing was sent
│   └── BrokerConnectionLost    the connection broke while something was under way
├── CacheUnavailable            Redis did not answer; whether it acted is unknown
├── SubmissionRefused
│   ├── PayloadTooLarge         413
│   ├── RequestInvalid          422
│   ├── KeyConflict             409: this key was used for another request
│   └── RateLimited             429, with the seconds to wait
└── TaskFailure                 raised by handlers
    ├── TransientFailure        may heal: retried
    └── PermanentFailure        no retry heals it
"""

import math


class ReferenceSystemError(Exception):
    """Anything that the reference system raises on purpose."""

    definite = True


class DatabaseError(ReferenceSystemError):
    """The database did not do what was asked, or did not say."""


class DatabaseUnavailable(DatabaseError):
    """The transaction surely was not committed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the database did not take the transaction: {why}")


class CommitUnknown(DatabaseError):
    """The commit was sent, and the connection broke before the answer: it may be committed."""

    definite = False

    def __init__(self, why: str) -> None:
        super().__init__(f"the answer to a commit never came: {why}")


class BrokerError(ReferenceSystemError):
    """The broker did not do what was asked, or did not say."""


class BrokerUnavailable(BrokerError):
    """There is no connection to the broker; nothing was sent."""

    def __init__(self, why: str) -> None:
        super().__init__(f"no connection to the broker: {why}")
        self.why = why


class BrokerConnectionLost(BrokerError):
    """The connection broke; what was under way may have arrived."""

    definite = False

    def __init__(self, why: str) -> None:
        super().__init__(f"the connection to the broker broke: {why}")
        self.why = why


class CacheUnavailable(ReferenceSystemError):
    """Redis did not answer; whether it acted is unknown."""

    definite = False

    def __init__(self, why: str) -> None:
        super().__init__(f"the cache did not answer: {why}")


class SubmissionRefused(ReferenceSystemError):
    """The submission was understood and refused; nothing was created."""


class PayloadTooLarge(SubmissionRefused):
    """The payload is over its bound."""

    def __init__(self, payload_bytes: int, payload_bytes_max: int) -> None:
        super().__init__(f"the payload has {payload_bytes} bytes; at most {payload_bytes_max} are allowed")


class RequestInvalid(SubmissionRefused):
    """The request cannot be a task."""


class KeyConflict(SubmissionRefused):
    """The idempotency key was used before, for another request."""

    def __init__(self, task_id: str) -> None:
        super().__init__("this Idempotency-Key belongs to another request")
        self.task_id = task_id


class RateLimited(SubmissionRefused):
    """The user's window is full. `retry_after_s`: whole seconds, rounded up: who comes back a moment too early is refused again."""

    def __init__(self, retry_after_s: float) -> None:
        self.retry_after_s = max(1, math.ceil(retry_after_s))
        super().__init__(f"too many new tasks; try again in {self.retry_after_s} s")


class TaskFailure(ReferenceSystemError):
    """Raised by a handler. The message is stored and shown: it must not contain secrets, personal data or model input."""


class TransientFailure(TaskFailure):
    """May heal by itself: a time-out, a refused connection, an outside service that is busy."""


class PermanentFailure(TaskFailure):
    """No retry heals it: bad parameters, no permission, a business rule."""
