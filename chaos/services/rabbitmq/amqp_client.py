"""A small AMQP client for the lab's own round trips: every step under one deadline, no log, no thread, no retry."""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from pamqp import base, body, commands, frame, header

from chaos.deadline import Deadline
from chaos.services.addresses import RabbitmqAddress
from chaos.services.rabbitmq.frames import HEARTBEAT, Frame, Splitter

CHANNEL = 1
RECEIVE_BYTES = 1 << 16

Answer = TypeVar("Answer", bound=frame.FrameTypes)


class AmqpRefused(ConnectionError):
    """The broker closed the channel or the connection, with a reason."""


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A message as the broker delivers it; `headers`: its properties, those that it has."""

    body: bytes
    headers: Mapping[str, object]
    redelivered: bool


class AmqpClient:
    """One connection with one open channel, as a context manager. All methods raise OSError if the broker refuses or does not answer."""

    def __init__(self, address: RabbitmqAddress, deadline: Deadline) -> None:
        self._address = address
        self._deadline = deadline
        self._splitter = Splitter(preamble=False)
        self._frames: list[Frame] = []
        self._socket = socket.create_connection(
            (address.host, address.port), timeout=max(0.001, deadline.remaining_s())
        )
        self.server_version = ""

    def __enter__(self) -> "AmqpClient":
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.call(commands.Connection.Close(200, "", 0, 0), commands.Connection.CloseOk, channel=0)
        finally:
            self.close()

    def open(self) -> None:
        """Log in and open the channel; done by `with`."""
        try:
            self._log_in()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the socket without a message to the broker. Idempotent."""
        self._socket.close()

    def extend(self, deadline: Deadline) -> None:
        """Set the deadline for the following calls."""
        self._deadline = deadline

    def call(self, request: base.Frame, answer: type[Answer], *, channel: int = CHANNEL) -> Answer:
        """Send a method and return the broker's answer to it.

        Raises:
            AmqpRefused: the broker closed the channel or the connection instead.
            TimeoutError: no answer before the deadline.
        """
        self._send(frame.marshal(request, channel))
        return self._expect(answer)

    def call_many(self, requests: Sequence[base.Frame], answer: type[frame.FrameTypes]) -> None:
        """Send methods without waiting, then wait for the answer to each."""
        self._send(b"".join(frame.marshal(request, CHANNEL) for request in requests))
        for _ in requests:
            self._expect(answer)

    def publish_confirmed(self, queue: str, content: bytes) -> bool:
        """Publish to a queue on a channel in confirm mode; whether the broker confirmed the message."""
        properties = commands.Basic.Properties(delivery_mode=2)
        frames = (
            commands.Basic.Publish(routing_key=queue, mandatory=True),
            header.ContentHeader(body_size=len(content), properties=properties),
            body.ContentBody(content),
        )
        self._send(b"".join(frame.marshal(one, CHANNEL) for one in frames))
        while True:
            answer = self._read()
            if isinstance(answer, commands.Basic.Return | commands.Basic.Nack):
                return False
            if isinstance(answer, commands.Basic.Ack):
                return True

    def get(self, queue: str) -> bytes | None:
        """Take one message from a queue; None if it is empty."""
        message = self._get(queue, no_ack=True)
        return None if message is None else message.body

    def peek(self, queue: str) -> QueuedMessage | None:
        """The next message of a queue, which goes back when this connection closes; None if there is no other."""
        return self._get(queue, no_ack=False)

    def _get(self, queue: str, *, no_ack: bool) -> QueuedMessage | None:
        self._send(frame.marshal(commands.Basic.Get(queue=queue, no_ack=no_ack), CHANNEL))
        answer = self._read()
        if not isinstance(answer, commands.Basic.GetOk):
            return None
        head = self._expect(header.ContentHeader)
        content = b""
        while len(content) < head.body_size:
            content += self._expect(body.ContentBody).value
        properties = {name: value for name, value in head.properties if value is not None}
        return QueuedMessage(content, properties, redelivered=bool(answer.redelivered))

    def _log_in(self) -> None:
        self._send(header.ProtocolHeader().marshal())
        start = self._expect(commands.Connection.Start)
        self.server_version = _text((start.server_properties or {}).get("version"))
        login = f"\0{self._address.user}\0{self._address.password}"
        start_ok = commands.Connection.StartOk({"product": "tasklab"}, "PLAIN", login, "en_US")
        tune = self.call(start_ok, commands.Connection.Tune, channel=0)
        self._send(frame.marshal(commands.Connection.TuneOk(tune.channel_max, tune.frame_max, 0), 0))
        self.call(commands.Connection.Open(self._address.vhost), commands.Connection.OpenOk, channel=0)
        self.call(commands.Channel.Open(), commands.Channel.OpenOk)

    def _expect(self, wanted: type[Answer]) -> Answer:
        answer = self._read()
        if not isinstance(answer, wanted):
            raise AmqpRefused(f"the broker answered {answer.name}, not {wanted.name}")
        return answer

    def _read(self) -> frame.FrameTypes:
        while True:
            while not self._frames:
                self._frames = list(self._splitter.feed(self._receive()))
            read = self._frames.pop(0)
            if read.kind == HEARTBEAT:
                continue
            _, _, content = frame.unmarshal(read.raw)
            if isinstance(content, commands.Connection.Close | commands.Channel.Close):
                raise AmqpRefused(f"{content.reply_code} {content.reply_text}")
            return content

    def _receive(self) -> bytes:
        self._limit()
        received = self._socket.recv(RECEIVE_BYTES)
        if not received:
            raise ConnectionResetError("the broker closed the connection")
        return received

    def _send(self, content: bytes) -> None:
        self._limit()
        self._socket.sendall(content)

    def _limit(self) -> None:
        if self._deadline.is_over():
            raise TimeoutError("no time left")
        self._socket.settimeout(self._deadline.remaining_s())


def _text(value: object) -> str:
    """A field of the broker's properties as text; pamqp leaves some as bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")
