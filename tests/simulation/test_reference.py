"""The reference's own code in the simulated world."""

from scenarios.simulated.plan import DelayPlan, PlannedTask, WorldPlan
from scenarios.simulated.run import simulate
from scenarios.systems.reference_simulated import ReferenceSimulation
from scenarios.verdict import Ruling


def test_a_plain_workload_holds_every_promise_and_ends_every_task_once() -> None:
    tasks = tuple(PlannedTask(n / 100, f"task-{n}", {"task": f"task-{n}", "work_s": 0.02}) for n in range(30))
    plan = WorldPlan("plain", 1, tasks, delays=DelayPlan("erratic", slow_share=0.1, slow_s=0.05))

    world = simulate(plan, ReferenceSimulation())

    assert {verdict.ruling for verdict in world.judgement.verdicts} == {Ruling.HELD}
    assert world.judgement.account.counts["done"] == 30
    assert [event.event for event in world.events].count("attempt.start") == 30
    assert world.gone == []
