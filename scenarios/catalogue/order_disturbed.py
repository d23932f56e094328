"""Tasks have to keep an order while one fails and a worker dies."""

from chaos.faults import KillProcess
from scenarios.experiment.scenario import AttemptBegun, Between, IsOrdered, Scenario, Strike, WorkDuring, Workload
from scenarios.judging.guarantees import Guarantee

SCENARIO = Scenario(
    name="order_disturbed",
    story=(
        "Tasks of a few ordering keys fail now and then, and a worker is killed in the middle. Those of one key must go on "
        "in the order of their submission, the others must not wait for them."
    ),
    workload=Workload(
        tasks=40,
        rate_per_s=30,
        work_s=Between(0.02, 0.06),
        failing_once=8,
        clients=1,
        traits=(IsOrdered(percent=80, keys=6),),
    ),
    strikes=(Strike(KillProcess(), when=AttemptBegun(nth=Between(8, 20)), lasts_s=Between(0.3, 0.6)),),
    premises=(WorkDuring(KillProcess.name),),
    needs=("order_key",),
    at_stake=(
        Guarantee.ORDER_KEPT,
        Guarantee.NO_LOST_TASK,
        Guarantee.NO_STUCK_TASK,
        Guarantee.EXACTLY_ONE_EFFECT,
    ),
)
