"""The common part of faults by the AMQP relay: a rule on the link of one process, armed until it fires."""

from collections.abc import Callable
from dataclasses import replace

from chaos.deadline import Deadline, wait
from chaos.errors import FaultDidNotBite, FaultDidNotHeal
from chaos.faults import SwallowAck, WithholdConfirm
from chaos.injection import Evidence
from chaos.injectors.injector import InjectionContext, process_of
from chaos.network.relay import Link
from chaos.network.rules import ArmedRule, Rule
from chaos.services.rabbitmq import server as rabbitmq


class RelayedFault:
    """A rule on the link of one process, armed until it fires.

    `round_trip` checks a new connection to the health address of that link; it returns the problem, or "".
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
        """Wait until the rule fires. May be called again after it raised: the rule stays armed."""
        assert self._armed is not None, "a fault bites after it has begun"
        firing = self._armed.await_firing(timeout_s)
        if firing is None:
            why = f"it waits for operation {self._rule.nth}, and has counted {self._armed.seen}"
            raise FaultDidNotBite(self._fault, self.target, why)
        return firing.evidence()

    def end(self) -> None:
        """Disarm the rule; if it froze the link, cut the frozen connections and accept new ones."""
        if self._armed is not None and not self._ended:
            self._ended = True
            self._link.disarm(self._armed)
            self._link.thaw(self._armed)

    def await_healed(self, timeout_s: float) -> None:
        """Wait for a successful round trip through the same link."""
        if problem := wait(self._round_trip, Deadline.after(timeout_s)):
            raise FaultDidNotHeal(self._fault, self.target, problem)


def arm_on_link(fault: SwallowAck | WithholdConfirm, rule: Rule, context: InjectionContext) -> RelayedFault:
    """The injection of a fault by this rule, on the link of the process at which the fault is aimed."""
    link = context.links.relayed(process_of(fault.process, context.processes).spec.name)
    assert context.services.rabbitmq is not None, "a relayed link leads to a broker"
    host, port = link.health_address
    door = replace(context.services.rabbitmq, host=host, port=port)
    return RelayedFault(fault.name, link, rule, lambda: rabbitmq.missing(door))
