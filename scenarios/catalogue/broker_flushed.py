"""Every key of a Redis that is the broker is removed while tasks wait."""

from chaos.faults import FlushKeys
from scenarios.experiment.scenario import AtTime, Between, Scenario, Strike, Waiting, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="broker_flushed",
    story=(
        "Every key of the Redis that is the broker is removed while tasks wait. A system that keeps its tasks only there loses them; "
        "one that keeps them elsewhere must bring them back. What is submitted afterwards must be done by either."
    ),
    workload=Workload(tasks=100, rate_per_s=50, work_s=Between(0.1, 0.3), failing_once=8),
    strikes=(Strike(FlushKeys("broker"), when=AtTime(at_s=Between(0.8, 1.2)), lasts_s=Between(0.2, 1.0)),),
    premises=(Waiting(FlushKeys.name),),
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
