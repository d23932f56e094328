"""The memory of a Redis that is the broker is full, and it drops keys."""

from chaos.faults import EvictKeys
from scenarios.experiment.scenario import AtTime, Between, Scenario, Strike, Waiting, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="broker_evicts",
    story=(
        "The Redis that is the broker is full, because of another program, and evicts keys: a system that keeps its tasks only there "
        "loses some of them. What is submitted afterwards must be done by every system."
    ),
    workload=Workload(tasks=100, rate_per_s=50, work_s=Between(0.1, 0.3), failing_once=8),
    strikes=(Strike(EvictKeys("broker"), when=AtTime(at_s=Between(0.8, 1.2)), lasts_s=Between(0.2, 1.0)),),
    premises=(Waiting(EvictKeys.name),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.NO_PHANTOM_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.OUTCOME_REPORTED,
        Guarantee.RECOVERS_IN_TIME,
    ),
)
