"""Faults of one AMQP connection: exactly one ack swallowed, exactly one publish whose confirm never comes."""

from collections.abc import Callable

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal
from chaos.injection import Evidence, Message
from chaos.network.relay import Link
from chaos.network.rules import ArmedRule, FreezeAtNthPublish, Rule


class RelayRule:
    """A rule of the relay on the link of one process, armed until it fires.

    `round_trip` tells what a new connection through the side door of that link lacks; nothing ("") when it is well.
    """

    def __init__(self, fault: str, link: Link, rule: Rule, round_trip: Callable[[], str]) -> None:
        self.target = link.name
        self._fault = fault
        self._link = link
        self._rule = rule
        self._round_trip = round_trip
        self._armed: ArmedRule | None = None
        self._ended = False

    def begin(self) -> None:
        """Arm; what is counted is counted from now."""
        self._armed = self._link.arm(self._rule)

    def await_bite(self, timeout_s: float) -> Evidence:
        """See the rule fire. May be called again after it raised: the rule stays armed."""
        assert self._armed is not None, "a fault bites after it has begun"
        firing = self._armed.await_firing(timeout_s)
        if firing is None:
            why = f"it waits for number {self._rule.nth}, and has seen {self._armed.seen}"
            raise FaultDidNotBite(self._fault, self.target, why)
        return Evidence(str(firing), tuple(map(Message, firing.bodies)))

    def end(self) -> None:
        """Disarm; cut what is frozen, and let new connections through."""
        if self._armed is not None and not self._ended:
            self._ended = True
            self._link.disarm(self._armed)
            if isinstance(self._rule, FreezeAtNthPublish):
                self._link.thaw()

    def await_healed(self, timeout_s: float) -> None:
        """See a round trip through the same link."""
        if problem := wait(self._round_trip, Deadline.after(timeout_s)):
            raise FaultDidNotHeal(self._fault, self.target, problem)
