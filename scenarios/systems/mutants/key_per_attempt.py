"""The idempotency key that goes to the outside differs in every attempt: nobody there can recognise a repeat."""

from collections.abc import Mapping
from dataclasses import replace

from reference_impl.attempt import Attempt
from reference_impl.bootstrap import Parts
from reference_impl.ports import Handler
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutants.mutant import Mutant


class AttemptWithOwnKey(Attempt):
    """Shows the outside who is calling, not what for."""

    __slots__ = ()

    @property
    def idempotency_key(self) -> str:
        """See reference_impl.attempt.Attempt."""
        return f"{self.claim.task.id}/{self.number}"


def alter(parts: Parts) -> Parts:
    """With handlers that are given such attempts."""

    def handler_of(type_: str) -> Handler | None:
        handler = parts.handler_of(type_)
        return None if handler is None else _with_own_key(handler)

    return replace(parts, handler_of=handler_of)


def _with_own_key(handler: Handler) -> Handler:
    def handle(attempt: Attempt) -> Mapping[str, object] | None:
        return handler(AttemptWithOwnKey(attempt.claim, attempt.cache, attempt.entropy, attempt.progress_expiry_s))

    return handle


system = Mutant(
    name="key_per_attempt",
    defect="the idempotency key of an effect differs in every attempt",
    expected=(Guarantee.EXACTLY_ONE_EFFECT,),
    alter=alter,
)
