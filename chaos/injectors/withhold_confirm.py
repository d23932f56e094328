"""The n-th publish of a process arrives, and nothing passes after it: by the AMQP relay."""

from chaos.faults import WithholdConfirm
from chaos.injectors.injector import Capability, Injector, Means
from chaos.injectors.relayed import RelayedFault, arm_on_link
from chaos.network.rules import FreezeAtNthPublish


def inject(fault: WithholdConfirm, means: Means) -> RelayedFault:
    """The injection of one such fault."""
    return arm_on_link(fault, FreezeAtNthPublish(fault.nth), means)


INJECTOR = Injector(inject, needs=frozenset({Capability.LINKS}))
