"""Rules of the relay, as frozen data: which operation to wait for, and what to do then. A rule fires once and keeps the evidence."""

import threading
from dataclasses import dataclass, field
from typing import ClassVar

from chaos.injection import Evidence, Message
from chaos.network.conversation import AckSent, Published


@dataclass(frozen=True, slots=True)
class SwallowNthAck:
    """Drop the `nth` basic.ack that a client sends from now on, then cut its connection."""

    counts: ClassVar[type] = AckSent

    nth: int


@dataclass(frozen=True, slots=True)
class FreezeAtNthPublish:
    """Forward the `nth` basic.publish that a client sends from now on, and after it nothing in either direction."""

    counts: ClassVar[type] = Published

    nth: int


Rule = SwallowNthAck | FreezeAtNthPublish


@dataclass(frozen=True, slots=True)
class Firing:
    """What a rule did when it fired.

    `tag`: the delivery tag of the ack, or the number of the publish in its channel. `messages`: those of the operation (several for an
    ack of many). `in_confirm_mode`: of the publisher's channel. `at_ns`: on the monotonic clock.
    """

    rule: Rule
    channel: int
    tag: int
    multiple: bool = False
    in_confirm_mode: bool = False
    messages: tuple[Message, ...] = ()
    at_ns: int = field(default=0, compare=False)

    def evidence(self) -> Evidence:
        """For an injector: a sentence that quotes no message, and the messages."""
        return Evidence(self._words(), self.messages, self.at_ns)

    def _words(self) -> str:
        if isinstance(self.rule, SwallowNthAck):
            below = " and below" if self.multiple else ""
            happened = (
                f"basic.ack {self.rule.nth} (delivery tag {self.tag}{below}) did not pass, its connection was cut"
            )
        else:
            happened = f"basic.publish {self.rule.nth} (number {self.tag} of its channel) passed, nothing after it"
            happened += "; its confirm is kept back" if self.in_confirm_mode else "; its channel is not in confirm mode"
        cut = sum(message.is_cut for message in self.messages)
        known = f"{len(self.messages) or 'no'} messages known" if len(self.messages) != 1 else "1 message"
        return f"{happened}; channel {self.channel}; {known}" + (f", {cut} of them not whole" if cut else "")


class ArmedRule:
    """A rule armed on a link: counts its operations, and keeps its firing. Fires at most once."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.seen = 0
        self._firing: Firing | None = None
        self._fired = threading.Event()

    @property
    def is_spent(self) -> bool:
        """Whether it has fired."""
        return self._firing is not None

    def count(self) -> bool:
        """Count one operation; whether the rule has to fire now."""
        self.seen += 1
        return self.seen == self.rule.nth and not self.is_spent

    def fire(self, firing: Firing) -> None:
        """Store the firing, and wake the waiting threads."""
        assert self._firing is None, "a rule fires once"
        self._firing = firing
        self._fired.set()

    def await_firing(self, timeout_s: float) -> Firing | None:
        """Block until it has fired; the firing, or None after the time-out."""
        self._fired.wait(timeout_s)
        return self._firing
