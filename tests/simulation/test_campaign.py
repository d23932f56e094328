"""What a campaign says of itself: which points it struck, which strategy ordered its worlds, and that it could have failed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection

from reference_impl.http.service import Api
from reference_impl.ports import Message
from reference_impl.rows import store
from reference_impl.rows.document import document
from reference_impl.rows.submission import Submission, Submitted, prepare
from reference_impl.rows.transactions import transact
from reference_impl.task import Task
from scenarios.judging.guarantees import Guarantee
from scenarios.record.history import Event
from scenarios.simulated.directory import source_of, write_run
from scenarios.simulated.run import simulate
from scenarios.simulated.search.campaign import Visited, visited
from scenarios.simulated.search.explore import Row, Work, row_of, run_works
from scenarios.simulated.search.shrink import broken_promises
from scenarios.simulated.search.tally import Tally
from scenarios.simulated.system import Sizes
from scenarios.simulated.worlds import swarm
from scenarios.simulated.worlds.crash_points import CrashPoints
from scenarios.simulated.worlds.plan import DelayPlan, PlannedStrike, PlannedTask, WorldPlan
from scenarios.stored.judge_files import judge_run
from scenarios.systems.mutant import with_classes
from scenarios.systems.reference.simulated import ReferenceSimulation

SEEDS = range(1, 121)


def crashed(number: int, *, faults: int) -> Row:
    return Row("crash_points", "reference", number, 0, f"crash_points~reference~{number}", faults=faults)


def test_a_crash_point_counts_as_visited_only_if_it_was_struck() -> None:
    points = len(CrashPoints(ReferenceSimulation()).points)
    rows = [
        crashed(1, faults=1),
        crashed(2, faults=0),
        crashed(points + 1, faults=2),
        crashed(points + 2, faults=1),
        Row("swarm", "reference", 3, 0, "swarm~reference~3", faults=1),
    ]

    assert visited("reference", [*rows, rows[0]]) == Visited(points=points, alone=1, pairs=1)


def test_a_crash_that_was_planned_and_never_came_is_no_visit_and_makes_its_world_unknown() -> None:
    planned = CrashPoints(ReferenceSimulation()).world_of(1)
    never = type(planned.call_faults[0])(planned.call_faults[0].fiber, 100_000, "kill")

    world = simulate(
        WorldPlan("crash_points", 1, planned.tasks, planned.sizes, call_faults=(never,), must_bite=True),
        ReferenceSimulation(),
    )

    assert world.judgement.exit_code == 3
    assert world.strikes == []


def test_the_swarm_draws_each_strategy_and_a_row_says_which() -> None:
    drawn = [swarm.world_of(seed, ReferenceSimulation().terms).delays.kind for seed in range(1, 31)]

    rows = run_works("reference", [Work("swarm", seed) for seed in range(1, 31)])

    assert [row.delays for row in rows] == drawn
    assert set(drawn) == {"steady", "erratic", "preempting"}


class HastyApi(Api):
    """Publishes before it commits, and waits for no confirm: most messages find their row, and a few overtake the commit."""

    __slots__ = ()

    def find_or_create(self, submission: Submission, admit: Callable[[], None]) -> Submitted:
        admit()
        draft = prepare(self.runtime.entropy, submission, payload_bytes_max=self.settings.payload_bytes_max)

        def insert_and_publish(connection: Connection) -> Task:
            found = draft.find(connection)
            if found is not None:
                return found
            store.insert_accepted(connection, draft.row, actor=self.runtime.name)
            body = document({"task_id": draft.row.id, "trace_id": draft.row.trace_id}).encode()
            publisher = self.broker.open_publisher()
            publisher.publish([Message(draft.row.id, self.settings.work_queue, body)], timeout_s=0.0)
            publisher.close()
            task = store.find(connection, draft.row.id)
            assert task is not None
            return task

        return draft.submitted_as(transact(self.engine, insert_and_publish))


def test_the_order_of_steps_alone_shows_a_defect_that_no_fault_is_needed_for() -> None:
    simulation = replace(ReferenceSimulation().without("sweep"), patch=with_classes(api=HastyApi))

    found = [
        broken_promises(simulate(_quiet(seed, DelayPlan("preempting", times=4, among=300)), simulation))
        for seed in SEEDS
    ]

    assert broken_promises(simulate(_quiet(1, DelayPlan()), simulation)) == []
    assert any(Guarantee.NO_STUCK_TASK in promises for promises in found)


def test_only_faults_that_bit_are_counted_and_one_that_waits_for_another_misses_with_it() -> None:
    bites = PlannedStrike("process_paused", {"process": "worker-1"}, at_s=0.01, lasts_s=0.1)
    misses = PlannedStrike("process_killed", {"process": "nobody"}, at_s=0.02)
    follows = PlannedStrike(
        "process_killed", {"process": "worker-1"}, when="PreviousBit", trigger={"wait_s": 0.1}, lasts_s=0.1
    )
    plan = msgspec.structs.replace(_quiet(1, DelayPlan()), strikes=(bites, misses, follows))

    world = simulate(plan, ReferenceSimulation())

    reasons = [strike.problem.rpartition(": ")[2] for strike in world.strikes]
    assert reasons == ["", "no process here has the name or role 'nobody'", "the previous strike did not bite"]
    assert "crash" not in {event.event for event in world.events}
    assert row_of(world, Work("quiet", 1), "reference").faults == 1


def test_a_row_says_which_claimed_promises_were_put_to_the_test() -> None:
    world = simulate(_quiet(1, DelayPlan()), ReferenceSimulation())

    row = row_of(world, Work("quiet", 1), "reference")

    assert {*row.held, *row.untested} == {promise.value for promise in world.claims}
    assert ("exactly_one_effect" in row.held, "exactly_one_effect" in row.untested) == (True, False)
    assert ("dead_letter_if_exhausted" in row.held, "dead_letter_if_exhausted" in row.untested) == (False, True)


@pytest.mark.parametrize(
    "seed", [43, 45, 66, 202]
)  # two acks swallowed out of the order of the plan; faults after all work
def test_a_world_that_held_holds_as_a_directory_too(tmp_path: Path, seed: int) -> None:
    world = simulate(swarm.world_of(seed, ReferenceSimulation().terms), ReferenceSimulation())

    written = write_run(world, tmp_path, system="reference", repeat="", steps=[])

    assert (judge_run(written).exit_code, world.judgement.exit_code) == (0, 0)


def test_silence_is_worth_as_much_as_the_worlds_that_put_a_promise_to_the_test() -> None:
    tally = Tally()
    for number in range(4):
        tally.add(
            held_world(number, ["no_lost_task", "single_holder"] if number else ["no_lost_task"], ["retry_schedule"])
        )
    tally.add(crashed(4, faults=1))  # as an earlier version wrote it
    tally.add(Row("swarm", "reference", 5, 3, "", held=["single_holder"], problems=["not caught up"]))

    assert tally.tested == {"no_lost_task": 4, "single_holder": 4, "retry_schedule": 0}
    assert tally.seldom_tested() == [("retry_schedule", 0), ("no_lost_task", 4), ("single_holder", 4)]
    assert (tally.without_details, tally.calm, tally.silence) == (1, 5, "0 in 6: rate below 0.5 at 95 %")


def test_a_broken_promise_is_not_bounded() -> None:
    tally = Tally()
    tally.add(held_world(1, ["no_lost_task"], []))
    tally.add(Row("swarm", "reference", 2, 1, "", broken=["no_lost_task"], held=["single_holder"]))

    assert tally.seldom_tested() == [("single_holder", 1)]


def held_world(number: int, held: list[str], untested: list[str]) -> Row:
    return Row("swarm", "reference", number, 0, f"swarm~reference~{number}", held=held, untested=untested)


def _quiet(seed: int, delays: DelayPlan) -> WorldPlan:
    tasks = tuple(
        PlannedTask(0.01 * number, f"task-{number}", {"task": f"task-{number}", "work_s": 0.02}, tries=10)
        for number in (1, 2, 3)
    )
    return WorldPlan("quiet", seed, tasks, Sizes(workers=2), delays=delays, read_every_s=0.05)


def test_a_written_world_has_the_files_of_a_real_run_and_processes_record_only_what_they_did() -> None:
    events = [
        Event(event=name, actor=actor, t_ns=0)
        for name, actor in (
            ("crash", "worker-1"),
            ("effect", "worker-1"),
            ("attempt.start", "worker-1"),
            ("submit.ok", "client-1"),
            ("status", "reader"),
            ("fault.begin", "lab"),
            ("ack.info", "broker"),
            ("state", "database"),
        )
    ]

    assert [source_of(event) for event in events] == [
        *("lab", "outside", "worker-1", "client", "client", "lab", "broker", "database")
    ]
