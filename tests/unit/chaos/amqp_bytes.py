"""AMQP as bytes, for tests: what clients and brokers say, made by pamqp."""

from typing import Any

from pamqp import body, commands, frame, header

PREAMBLE = header.ProtocolHeader().marshal()
HEARTBEAT = b"\x08\x00\x00\x00\x00\x00\x00\xce"


def method(command: frame.FrameTypes, channel: int = 1) -> bytes:
    return frame.marshal(command, channel)


PERSISTENT = commands.Basic.Properties(delivery_mode=2)


def content(
    body_bytes: bytes, channel: int = 1, *, piece: int = 100, properties: commands.Basic.Properties = PERSISTENT
) -> bytes:
    pieces = [body_bytes[at : at + piece] for at in range(0, len(body_bytes), piece)]
    parts = [header.ContentHeader(body_size=len(body_bytes), properties=properties)]
    return b"".join(frame.marshal(part, channel) for part in [*parts, *map(body.ContentBody, pieces)])


def publish(body_bytes: bytes, channel: int = 1) -> bytes:
    return method(commands.Basic.Publish(exchange="x", routing_key="tasks"), channel) + content(body_bytes, channel)


def deliver(tag: int, body_bytes: bytes, channel: int = 1, consumer_tag: str = "worker-1", **options: Any) -> bytes:
    told = commands.Basic.Deliver(consumer_tag=consumer_tag, delivery_tag=tag, exchange="x", routing_key="tasks")
    return method(told, channel) + content(body_bytes, channel, **options)


def get_ok(tag: int, body_bytes: bytes, channel: int = 1) -> bytes:
    told = commands.Basic.GetOk(delivery_tag=tag, exchange="x", routing_key="tasks", message_count=0)
    return method(told, channel) + content(body_bytes, channel)


def ack(tag: int, channel: int = 1, *, multiple: bool = False) -> bytes:
    return method(commands.Basic.Ack(delivery_tag=tag, multiple=multiple), channel)
