"""The n-th ack of a process does not arrive, and its connection is cut: by the AMQP relay."""

from chaos.faults import SwallowAck
from chaos.injectors.injector import Capability, InjectionContext, Injector
from chaos.injectors.relayed import RelayedFault, arm_on_link
from chaos.network.rules import SwallowNthAck


def inject(fault: SwallowAck, context: InjectionContext) -> RelayedFault:
    """The injection of one such fault."""
    return arm_on_link(fault, SwallowNthAck(fault.nth), context)


INJECTOR = Injector(inject, needs=frozenset({Capability.LINKS}))
