"""The n-th publish of a process arrives, and nothing passes after it: by the AMQP relay."""

from chaos.faults import WithholdConfirm
from chaos.injectors.injector import Capability, InjectionContext, Injector
from chaos.injectors.relayed import RelayedFault, arm_on_link
from chaos.network.rules import FreezeAtNthPublish


def inject(fault: WithholdConfirm, context: InjectionContext) -> RelayedFault:
    """The injection of one such fault."""
    return arm_on_link(fault, FreezeAtNthPublish(fault.nth), context)


INJECTOR = Injector(inject, needs=frozenset({Capability.LINKS}))
