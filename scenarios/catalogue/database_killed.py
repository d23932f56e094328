"""The database dies in mid-flow and comes back."""

from chaos.faults import KillService
from scenarios.experiment.scenario import Between, Effects, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="database_killed",
    story=(
        "The database is killed while tasks are submitted and executed, and restarted on its data. Every acknowledged task must be done, "
        "none may have a second effect, and every status that is read must be true."
    ),
    workload=Workload(tasks=80, rate_per_s=20, work_s=Between(0.01, 0.05), failing_once=8, failing_for_good=4),
    strikes=(Strike(KillService("database"), when=Effects(count=Between(15, 40)), lasts_s=Between(0.2, 1.0)),),
    premises=(WorkDuring(KillService.name),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.OUTBOX_ATOMIC,
        Guarantee.STATUS_TRUTHFUL,
        Guarantee.LEGAL_TRANSITIONS,
        Guarantee.RECOVERS_IN_TIME,
    ),
)
