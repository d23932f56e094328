"""Worlds with one safety net off: what is off, that the healthy reference keeps all other promises, and what only such worlds show."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from chaos.faults import PauseProcess
from reference_impl.components import Components
from reference_impl.http.service import Api
from reference_impl.rows.submission import Submitted
from scenarios.errors import NotApplicable, UnknownName
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.verdict import EXIT_UNKNOWN
from scenarios.simulated.run import Simulated, simulate
from scenarios.simulated.search.shrink import broken_promises
from scenarios.simulated.search.token import Token, read_token
from scenarios.simulated.system import NETS, without
from scenarios.simulated.worlds.plan import PlannedCallFault, PlannedStrike, PlannedTask, WorldPlan
from scenarios.simulated.worlds.series import find_series, name_without
from scenarios.systems.mutant import find_mutant
from scenarios.systems.reference.simulated import ReferenceSimulation
from scenarios.systems.reference.terms import CLAIMS

REFERENCE = ReferenceSimulation()
ONE_TASK = (PlannedTask(0.0, "task-1", {"task": "task-1", "work_s": 0.05}, tries=10),)


def events_of(world: Simulated, *kinds: str) -> list[str]:
    return [event.event for event in world.events if event.event in kinds]


@pytest.mark.parametrize("net", NETS)
def test_the_healthy_reference_keeps_what_rests_on_its_other_layers(net: str) -> None:
    worlds = find_series(name_without("swarm", net), REFERENCE)

    for seed in range(1, 16):
        world = simulate(worlds(seed), REFERENCE)
        assert (seed, broken_promises(world), world.problems) == (seed, [], [])


@pytest.mark.parametrize(
    ("net", "given_up"),
    [("sweep", set()), ("redelivery", set()), ("cache", set()), ("fence", {Guarantee.FENCED_WRITES}), ("lock", {Guarantee.SINGLE_HOLDER})],
)  # fmt: skip
def test_the_reference_gives_up_only_what_rests_on_that_net_alone(net: str, given_up: set[Guarantee]) -> None:
    assert CLAIMS - without(REFERENCE, net).terms.claims == given_up


def test_a_broker_that_does_not_redeliver_leaves_the_task_to_the_sweep() -> None:
    killed = PlannedCallFault("worker-1/slot 1", 6, "kill", "before", 0.2)
    plan = WorldPlan("swarm", 1, ONE_TASK, call_faults=(killed,), without="redelivery")

    with_sweep = simulate(plan, REFERENCE)

    assert with_sweep.missed == 0
    assert broken_promises(with_sweep) == []
    assert with_sweep.virtual_s > REFERENCE.settings.lease_s


def test_a_resource_without_fences_accepts_what_a_zombie_writes() -> None:
    paused = PlannedStrike(PauseProcess.name, {}, when="LeaderAtWork", trigger={"nth": 1}, lasts_s=2.5)

    def world_of(net: str) -> Simulated:
        return simulate(WorldPlan("swarm", 1, ONE_TASK, strikes=(paused,), without=net), REFERENCE)

    assert "write.rejected" in events_of(world_of(""), "write.rejected")
    assert events_of(world_of("fence"), "write.rejected") == []


def test_without_the_lock_several_lead_at_once() -> None:
    plan = WorldPlan("swarm", 1, ONE_TASK, without="lock")

    leaders = {
        event.actor
        for event in simulate(plan, REFERENCE).events
        if event.event == "lease.acquired" and event.resource == "lock:sweep"
    }

    assert leaders == {"rescuer-1", "rescuer-2"}


@pytest.mark.parametrize(("series", "found"), [("swarm", False), ("swarm-without-sweep", True)])
def test_a_message_that_is_taken_for_sent_too_early_is_seen_only_without_the_sweep(series: str, found: bool) -> None:
    variant = replace(REFERENCE, patch=find_mutant("sent_before_confirm").patch)
    worlds = find_series(series, variant)

    broken = [promise for seed in (3, 6, 9) for promise in broken_promises(simulate(worlds(seed), variant))]

    assert (Guarantee.NO_STUCK_TASK in broken) is found


def test_an_unknown_net_and_a_system_without_layers_are_told() -> None:
    with pytest.raises(UnknownName, match="sweep"):
        find_series("swarm-without-swep", REFERENCE)
    with pytest.raises(NotApplicable, match="without a safety net"):
        without(object(), "sweep")  # type: ignore[arg-type]


def test_a_token_carries_the_net_that_was_off() -> None:
    plan = find_series("swarm-without-lock", REFERENCE)(3)

    assert read_token(str(Token("swarm-without-lock", "reference", 3))).series == "swarm-without-lock"
    assert read_token(str(Token(plan.scenario, "reference", 3, plan))).plan == plan


def test_the_command_runs_worlds_without_a_net_and_its_rows_name_the_series() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tasklab", "simulate", "swarm", "--without", "fence"),
            *("--seeds", "1..2", "--jobs", "1", "--json"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [row["token"] for row in rows] == [f"swarm-without-fence~reference~{seed}" for seed in (1, 2)]
    assert all("fenced_writes" not in row["held"] for row in rows)


def test_a_world_in_which_nothing_is_accepted_is_unknown() -> None:
    def refusing(components: Components) -> Components:
        return replace(components, classes=replace(components.classes, api=Refusing))

    world = simulate(find_series("swarm", REFERENCE)(1), replace(REFERENCE, patch=refusing))

    assert world.judgement.exit_code == EXIT_UNKNOWN
    assert "too little work: no submission was acknowledged" in world.judgement.problems


class Refusing(Api):
    """Fails at every submission, as a program with a defect does."""

    def submit(self, *_: object, **__: object) -> Submitted:
        raise KeyError("a defect")
