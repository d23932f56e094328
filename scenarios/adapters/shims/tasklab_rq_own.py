"""The lab's own apps of RQ: with retries, and as it comes."""

from redis import Redis
from rq import Retry
from rq.decorators import job


def defaults(payload: object) -> None:
    """A plain function, enqueued without options."""
    raise NotImplementedError("the lab replaces it")  # this body never runs


@job("recommended", connection=Redis(), retry=Retry(max=3))  # type: ignore[untyped-decorator, unused-ignore]
def recommended(payload: object) -> None:
    """A job that is tried again when it fails, or its worker dies."""
    raise NotImplementedError("the lab replaces it")  # this body never runs
