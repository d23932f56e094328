"""Scenarios of the tests."""

from tasklab.scenario import Between, Effects, Guarantee, KillService, Scenario, Strike, Workload

broker_killed_among_retries = Scenario(
    name="broker_killed_among_retries",
    story="The broker is killed while many tasks wait for their retry, and restarted. None of them may be forgotten.",
    workload=Workload(tasks=60, rate_per_s=30, failing_once=60),
    strikes=(Strike(KillService("broker"), when=Effects(count=Between(10, 15)), lasts_s=0.5),),
    at_stake=(Guarantee.NO_LOST_TASK,),
)
