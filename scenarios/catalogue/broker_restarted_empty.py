"""A Redis that is the broker dies and comes back without its data."""

from chaos.faults import RestartEmpty
from scenarios.experiment.scenario import AtTime, Between, Scenario, Strike, Waiting, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="broker_restarted_empty",
    story=(
        "The Redis that is the broker is killed and started again without its files. A system that keeps its tasks only there loses "
        "them; one that keeps them elsewhere must bring them back. Either must connect again, and do what is submitted afterwards."
    ),
    workload=Workload(tasks=100, rate_per_s=50, work_s=Between(0.1, 0.3), failing_once=8),
    strikes=(Strike(RestartEmpty("broker"), when=AtTime(at_s=Between(0.8, 1.2)), lasts_s=Between(0.2, 1.0)),),
    premises=(Waiting(RestartEmpty.name),),
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
