"""The broker is killed under load and restarted."""

from chaos.faults import KillService
from scenarios.experiment.scenario import Between, Effects, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="broker_killed",
    story=(
        "The broker is killed while tasks are submitted and executed, and restarted. "
        "Every acknowledged task must be done; a redelivered task must not be done twice."
    ),
    workload=Workload(
        tasks=120, rate_per_s=30, work_s=Between(0.01, 0.05), failing_once=8, failing_always=3, failing_for_good=3
    ),
    strikes=(Strike(KillService("broker"), when=Effects(count=Between(20, 60)), lasts_s=Between(0.2, 1.0)),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.DEAD_LETTER_IF_EXHAUSTED,
        Guarantee.RECOVERS_IN_TIME,
    ),
    premises=(WorkDuring(KillService.name, at_least=3, or_waited=True),),
)
