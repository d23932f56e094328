"""Degradations of a simulated line, as frozen data that add up: a line keeps all active ones, so lifting one leaves the others."""

from collections.abc import Mapping
from dataclasses import dataclass

OVERHEAD_BYTES = 60
"""Protocol overhead of a message: an AMQP frame or a MySQL packet, in TCP and IP."""
NUMBER_BYTES = 8


@dataclass(frozen=True, slots=True)
class Degradation:
    """One fault on a line.

    `blocks`: nothing passes, and neither end notices. `refuses`: no connection is accepted. `delay_ns`: added to each message, in each
    direction. `ns_per_byte`: added for each byte, in each direction. `reset_after_ns`: an answer does not arrive; that long after it
    was sent, its connection is reset.
    """

    blocks: bool = False
    refuses: bool = False
    delay_ns: int = 0
    ns_per_byte: float = 0.0
    reset_after_ns: int | None = None


def message_bytes(payload: object) -> int:
    """The size of a message on the wire, estimated from the payload: texts and bytes by their length, numbers as 8 bytes."""
    return OVERHEAD_BYTES + _payload_bytes(payload)


def _payload_bytes(payload: object) -> int:
    if isinstance(payload, str | bytes):
        return len(payload)
    if isinstance(payload, Mapping):
        return sum(_payload_bytes(key) + _payload_bytes(value) for key, value in payload.items())
    if isinstance(payload, list | tuple):
        return sum(map(_payload_bytes, payload))
    return 0 if payload is None else NUMBER_BYTES
