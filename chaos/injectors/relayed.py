"""What faults of the AMQP relay have in common: a rule on the link of one process, armed until it fires."""

from collections.abc import Callable
from dataclasses import replace

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal
from chaos.faults import SwallowAck, WithholdConfirm
from chaos.injection import Evidence
from chaos.injectors.injector import Means, process_of
from chaos.network.relay import Link
from chaos.network.rules import ArmedRule, Rule
from chaos.services.rabbitmq import server as rabbitmq


class RelayedFault:
    """A rule on the link of one process, armed until it fires.

    `round_trip` says what a new connection through the side door of that link lacks; nothing ("") when it is well.
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
        """Arm the rule; it counts from now."""
        self._armed = self._link.arm(self._rule)

    def await_bite(self, timeout_s: float) -> Evidence:
        """See the rule fire. May be called again after it raised: the rule stays armed."""
        assert self._armed is not None, "a fault bites after it has begun"
        firing = self._armed.await_firing(timeout_s)
        if firing is None:
            why = f"it waits for number {self._rule.nth}, and has seen {self._armed.seen}"
            raise FaultDidNotBite(self._fault, self.target, why)
        return firing.evidence()

    def end(self) -> None:
        """Disarm the rule; if it froze the link, cut the frozen connections, and let new ones through."""
        if self._armed is not None and not self._ended:
            self._ended = True
            self._link.disarm(self._armed)
            self._link.thaw(self._armed)

    def await_healed(self, timeout_s: float) -> None:
        """See a round trip through the same link."""
        if problem := wait(self._round_trip, Deadline.after(timeout_s)):
            raise FaultDidNotHeal(self._fault, self.target, problem)


def arm_on_link(fault: SwallowAck | WithholdConfirm, rule: Rule, means: Means) -> RelayedFault:
    """The injection of a fault by this rule, on the link of the process at which the fault is aimed."""
    link = means.links.relayed(process_of(fault.process, means.processes).spec.name)
    assert means.services.rabbitmq is not None, "only a broker can have been linked to"
    host, port = link.side_door
    door = replace(means.services.rabbitmq, host=host, port=port)
    return RelayedFault(fault.name, link, rule, lambda: rabbitmq.missing(door))
