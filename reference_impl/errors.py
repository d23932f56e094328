"""The errors of the reference system. Each class states `definite`: True = the operation certainly had no effect, False = it may have.

ReferenceSystemError
├── DatabaseError
│   ├── DatabaseUnavailable     nothing was committed
│   └── CommitUnknown           the commit was sent and no reply arrived
├── BrokerError
│   ├── BrokerUnavailable       no connection; nothing was sent
│   └── BrokerConnectionLost    the connection broke during an operation
├── CacheUnavailable            Redis did not answer; it may have executed the command
├── SubmissionRefused
│   ├── PayloadTooLarge         413
│   ├── RequestInvalid          422
│   ├── KeyConflict             409: this key was used for another request
│   └── RateLimited             429, with the seconds to wait
└── TaskFailure                 raised by handlers
    ├── TransientFailure        retried: a later attempt may succeed
    └── PermanentFailure        never retried
"""

import math


class ReferenceSystemError(Exception):
    """Base of all errors that the reference system raises on purpose."""

    definite = True


class DatabaseError(ReferenceSystemError):
    """A database operation failed, or its result is unknown."""


class DatabaseUnavailable(DatabaseError):
    """The transaction was certainly not committed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the database did not commit the transaction: {why}")


class CommitUnknown(DatabaseError):
    """The commit was sent, and the connection broke before the reply: the transaction may be committed."""

    definite = False

    def __init__(self, why: str) -> None:
        super().__init__(f"no reply to a commit: {why}")


class BrokerError(ReferenceSystemError):
    """A broker operation failed, or its result is unknown."""


class BrokerUnavailable(BrokerError):
    """There is no connection to the broker; nothing was sent."""

    def __init__(self, why: str) -> None:
        super().__init__(f"no connection to the broker: {why}")
        self.why = why


class BrokerConnectionLost(BrokerError):
    """The connection broke; a message or acknowledgement in flight may have arrived."""

    definite = False

    def __init__(self, why: str) -> None:
        super().__init__(f"the connection to the broker broke: {why}")
        self.why = why


class CacheUnavailable(ReferenceSystemError):
    """Redis did not answer; it may have executed the command."""

    definite = False

    def __init__(self, why: str) -> None:
        super().__init__(f"the cache did not answer: {why}")


class SubmissionRefused(ReferenceSystemError):
    """The submission was refused; no task was created."""


class PayloadTooLarge(SubmissionRefused):
    """The payload is larger than the limit."""

    def __init__(self, payload_bytes: int, payload_bytes_max: int) -> None:
        super().__init__(f"the payload has {payload_bytes} bytes; at most {payload_bytes_max} are allowed")


class RequestInvalid(SubmissionRefused):
    """The request is not a valid task."""


class KeyConflict(SubmissionRefused):
    """The idempotency key was already used for a different request."""

    def __init__(self, task_id: str) -> None:
        super().__init__("this Idempotency-Key was used for a different request")
        self.task_id = task_id


class RateLimited(SubmissionRefused):
    """The user has reached the limit of this window. `retry_after_s`: whole seconds, rounded up, so that the retry is not too early."""

    def __init__(self, retry_after_s: float) -> None:
        self.retry_after_s = max(1, math.ceil(retry_after_s))
        super().__init__(f"too many new tasks; try again in {self.retry_after_s} s")


class TaskFailure(ReferenceSystemError):
    """Raised by a handler. The message is stored and shown: it must not contain secrets, personal data or model input."""


class TransientFailure(TaskFailure):
    """A later attempt may succeed: a time-out, a refused connection, a busy external service."""


class PermanentFailure(TaskFailure):
    """No retry can succeed: invalid parameters, missing permission, a business rule."""
