"""What a relay can be told to do to one connection: rules as frozen data. A rule fires once, and says what it did."""

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SwallowNthAck:
    """Do not pass on the `nth` basic.ack that a client sends from now on, then cut its connection."""

    nth: int


@dataclass(frozen=True, slots=True)
class FreezeAtNthPublish:
    """Pass on the `nth` basic.publish that a client sends from now on, and after it nothing in either direction."""

    nth: int


Rule = SwallowNthAck | FreezeAtNthPublish


@dataclass(frozen=True, slots=True)
class Firing:
    """What a rule did when it fired.

    `tag`: the delivery tag of the ack, or the publish's number in its channel. `bodies`: how the messages begin that it
    was about (300 characters at most each; several for an ack of many). `in_confirm_mode`: of the channel, at a publish.
    """

    rule: Rule
    channel: int
    tag: int
    multiple: bool = False
    in_confirm_mode: bool = False
    bodies: tuple[str, ...] = ()

    def __str__(self) -> str:
        if isinstance(self.rule, SwallowNthAck):
            what = f"basic.ack {self.rule.nth} (delivery tag {self.tag}{' and below' if self.multiple else ''}) did not pass"
            what += ", its connection was cut"
        else:
            what = f"basic.publish {self.rule.nth} (number {self.tag} of its channel) passed, nothing after it"
            what += "; its confirm is kept back" if self.in_confirm_mode else "; its channel is not in confirm mode"
        return f"{what}; channel {self.channel}; message: {' | '.join(self.bodies) or 'unknown'}"


class ArmedRule:
    """A rule on a link, from when it is armed: counts what it waits for, and holds what it did. Fires at most once."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.seen = 0
        self._firing: Firing | None = None
        self._fired = threading.Event()

    @property
    def is_spent(self) -> bool:
        """Whether it has fired."""
        return self._firing is not None

    def counts_to(self) -> bool:
        """Count one more of what it waits for; whether this is the one."""
        self.seen += 1
        return self.seen == self.rule.nth and not self.is_spent

    def fire(self, firing: Firing) -> None:
        """Note what it did."""
        assert self._firing is None, "a rule fires once"
        self._firing = firing
        self._fired.set()

    def await_firing(self, timeout_s: float) -> Firing | None:
        """Block until it has fired; what it did, or None if it has not in time."""
        self._fired.wait(timeout_s)
        return self._firing
