"""Defect: the idempotency key differs in every attempt. External services cannot recognise a retry."""

from collections.abc import Mapping
from dataclasses import replace

from reference_impl.attempt import Attempt
from reference_impl.components import Components
from reference_impl.extensions import Handler
from scenarios.judging.guarantees import Guarantee
from scenarios.systems.mutant import Mutant


class KeyedAttempt(Attempt):
    """Has the attempt number in its idempotency key."""

    __slots__ = ()

    @property
    def idempotency_key(self) -> str:
        """Different in every attempt."""
        return f"{self.claim.task.id}/{self.number}"


def patch(components: Components) -> Components:
    """Pass such attempts to the handlers."""

    def handler_of(type_: str) -> Handler | None:
        handler = components.handler_of(type_)
        return None if handler is None else _with_attempt_key(handler)

    return replace(components, handler_of=handler_of)


def _with_attempt_key(handler: Handler) -> Handler:
    def handle(attempt: Attempt) -> Mapping[str, object] | None:
        return handler(KeyedAttempt(attempt.claim, attempt.cache, attempt.entropy, attempt.progress_expiry_s))

    return handle


system = Mutant(
    name="key_per_attempt",
    defect="the idempotency key of an effect differs in every attempt",
    expected=(Guarantee.EXACTLY_ONE_EFFECT,),
    patch=patch,
)
