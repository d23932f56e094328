"""What a load test submits and when, and how a scenario's faults fit a load of another size."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.faults import KillService, SwallowAck, WithholdConfirm
from loadtests.arrivals import TASKS_PER_USER, WORK_LEAST_S, WORK_MOST_S, LoadPlan, arrivals
from scenarios.contract.system import Pace
from scenarios.experiment.plan import plan as plan_of
from scenarios.experiment.scaling import as_load
from scenarios.experiment.scenario import Between, Effects, LeaderAtWork, Scenario, Strike, Workload
from scenarios.judging.policy import Policy
from scenarios.lookup import find_scenario, scenario_names

plans = st.builds(
    LoadPlan,
    rate_per_s=st.floats(0.5, 500),
    duration_s=st.floats(0.1, 4),
    seed=st.integers(0, 2**31 - 1),
)


@given(plans)
def test_tasks_are_due_evenly_spaced_within_the_duration(plan: LoadPlan) -> None:
    due = list(arrivals(plan))

    assert len(due) == plan.tasks
    assert [task.at_s for task in due] == [number / plan.rate_per_s for number in range(plan.tasks)]
    assert due[-1].at_s <= plan.duration_s


@given(plans)
def test_one_plan_makes_the_same_tasks_every_time(plan: LoadPlan) -> None:
    assert list(arrivals(plan)) == list(arrivals(plan))


@given(plans)
def test_every_task_has_a_name_of_its_own_and_little_to_do_and_no_user_has_many(plan: LoadPlan) -> None:
    due = list(arrivals(plan))

    assert len({task.name for task in due}) == plan.tasks
    assert all(WORK_LEAST_S <= task.work_s <= WORK_MOST_S for task in due)
    assert max(Counter(task.user for task in due).values()) <= TASKS_PER_USER


def test_another_seed_gives_the_tasks_other_work() -> None:
    first, second = (LoadPlan(100, 1, seed) for seed in (1, 2))

    assert [task.work_s for task in arrivals(first)] != [task.work_s for task in arrivals(second)]


def scenario(*strikes: Strike) -> Scenario:
    return Scenario("struck", "It is struck.", Workload(tasks=100, rate_per_s=50), strikes, ())


def test_a_strike_comes_at_the_same_share_of_the_load_as_of_its_scenario() -> None:
    struck = scenario(Strike(KillService("rabbitmq"), when=Effects(Between(10, 40)), lasts_s=Between(0.2, 1.0)))

    load = as_load(struck, tasks=4000, rate_per_s=200)

    assert load.strikes == (
        Strike(KillService("rabbitmq"), when=Effects(Between(400, 1600)), lasts_s=Between(0.2, 1.0)),
    )
    assert load.name == "load_struck"
    assert load.story == "Under a steady load of 200 tasks a second: It is struck."


def test_traffic_that_a_fault_waits_for_grows_with_the_tasks() -> None:
    struck = scenario(
        Strike(SwallowAck("worker", nth=1), when=Effects(5), drawn={"nth": Between(5, 25)}),
        Strike(WithholdConfirm("relay", nth=1), when=Effects(5), drawn={"nth": Between(1, 3)}),
    )

    load = as_load(struck, tasks=20, rate_per_s=200)

    assert [strike.drawn["nth"] for strike in load.strikes] == [Between(1, 5), Between(1, 1)]


def test_what_happens_by_the_clock_comes_later_only_as_the_load_is_longer() -> None:
    struck = scenario(Strike(KillService("redis"), when=LeaderAtWork(Between(4, 8))))

    load = as_load(struck, tasks=4000, rate_per_s=200)  # 20 s instead of 2

    assert [strike.when for strike in load.strikes] == [LeaderAtWork(Between(40, 80))]


def test_without_a_fault_nothing_is_struck() -> None:
    assert as_load(None, tasks=10, rate_per_s=1).strikes == ()


@pytest.mark.parametrize("name", scenario_names())
@given(seed=st.integers(0, 2**31 - 1))
def test_every_scenario_of_the_catalogue_strikes_a_load_within_its_tasks(name: str, seed: int) -> None:
    load = as_load(find_scenario(name), tasks=400, rate_per_s=50)

    strikes = plan_of(load, seed, policy=Policy(attempts_max=4), pace=Pace(lease_s=2.0, lock_s=1.5)).strikes

    for strike in strikes:
        counts = [getattr(strike.when, field, 0) for field in ("nth", "count")]
        assert all(count <= 400 for count in counts)
        assert getattr(strike.fault, "nth", 0) <= 400
