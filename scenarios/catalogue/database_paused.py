"""The database stands still for a while, and goes on."""

from chaos.faults import PauseService
from scenarios.experiment.scenario import Between, Effects, OpenDuring, Scenario, Strike, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="database_paused",
    story=(
        "The database is paused while tasks are submitted and executed: connections stay open, and no request is answered. "
        "Then it continues. The requests that it had received are carried out late; no task may be lost or done twice because of that."
    ),
    workload=Workload(tasks=80, rate_per_s=20, work_s=Between(0.01, 0.05), failing_once=8, failing_for_good=4),
    strikes=(Strike(PauseService("database"), when=Effects(count=Between(15, 40)), lasts_s=Between(1.0, 3.0)),),
    premises=(OpenDuring(PauseService.name),),
    at_stake=(
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
        Guarantee.DUPLICATES_EXPLAINED,
        Guarantee.OUTBOX_ATOMIC,
        Guarantee.STATUS_TRUTHFUL,
        Guarantee.LEGAL_TRANSITIONS,
        Guarantee.RECOVERS_IN_TIME,
    ),
)
