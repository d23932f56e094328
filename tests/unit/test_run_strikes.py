"""The nemesis at work: a strike waits for its moment, proves its bite, lasts, is lifted and proves that it healed; or says what failed."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from chaos.faults import KillChild, KillProcess, KillService, LoseProcess, PauseProcess, StopProcess, SwallowAck
from scenarios.contract.system import Outcome
from scenarios.experiment import triggers
from scenarios.experiment.nemesis import Nemesis
from scenarios.experiment.outside import Request
from scenarios.experiment.scenario import (
    AtStart,
    AttemptBegun,
    EffectAccepted,
    Effects,
    PreviousBit,
    PreviousOver,
    Strike,
    UntilNextBites,
)
from scenarios.experiment.strike_state import StrikeState
from tests.thread_stage import ThreadStage

FOR_EVER_S = 3600.0


@contextmanager
def storm(stage: ThreadStage, strikes: Sequence[Strike]) -> Iterator[Nemesis]:
    """The nemesis at work; at the end of the block it gives up on strikes that still wait, and every strike is over."""
    nemesis = Nemesis(stage, stage.outside, stage.submissions, strikes)  # type: ignore[arg-type]
    nemesis.start()
    try:
        yield nemesis
    finally:
        nemesis.give_up()
        assert nemesis.await_over(60.0)


def strike_all(stage: ThreadStage, *strikes: Strike) -> list[StrikeState]:
    """Every strike until it is over; none whose moment does not come is waited for."""
    with storm(stage, strikes) as nemesis:
        pass
    return nemesis.states


def problems(nemesis: Nemesis) -> list[str]:
    return [*nemesis.failed(), *nemesis.missed()]


def test_a_strike_goes_from_its_beginning_to_its_healing_and_the_history_tells_each_step() -> None:
    stage = ThreadStage()

    (state,) = strike_all(stage, Strike(KillProcess("worker-2"), AtStart()))

    steps = ("fault.begin", "crash", "fault.bit", "fault.end", "restart", "fault.healed")
    assert stage.events.seen == [(step, "worker-2") for step in steps]
    assert stage.injections[0].did == ["begin", "bit", "end", "healed", "end"]
    facts = state.facts()
    assert (facts.fault, facts.target, facts.evidence, facts.problem) == ("process_killed", "worker-2", "seen", "")
    assert facts.begun_ns < facts.bit_ns < facts.ended_ns < facts.healed_ns  # type: ignore[operator]


def test_a_role_names_the_first_process_that_plays_it() -> None:
    (state,) = strike_all(ThreadStage(), Strike(KillProcess("worker"), AtStart()))

    assert (state.target, state.facts().roles) == ("worker-1", ("worker",))


def test_a_strike_whose_moment_never_came_has_missed_and_touched_nothing() -> None:
    stage = ThreadStage()

    (state,) = strike_all(stage, Strike(KillService("mysql"), Effects(5)))

    assert state.problem.endswith("its moment never came: 5 effects were accepted")
    assert (stage.injections, stage.events.seen) == ([], [])


def test_effects_are_counted_from_when_the_storm_begins() -> None:
    """The warm-up has had one by then: a scenario means its own tasks."""
    stage = ThreadStage()
    stage.outside.answer(Request(op="effect", actor="worker-1", task="warm-up"))

    (missed,) = strike_all(stage, Strike(KillService("mysql"), Effects(1)))
    with storm(stage, [Strike(KillService("mysql"), Effects(1))]) as nemesis:
        stage.outside.answer(Request(op="effect", actor="worker-1", task="task-1"))
        nemesis.await_over()

    assert missed.problem.endswith("its moment never came: 1 effects were accepted")
    assert problems(nemesis) == []


def test_a_fault_that_does_not_bite_is_lifted_and_is_a_problem() -> None:
    stage = ThreadStage(bites=lambda: False)
    with storm(stage, [Strike(KillService("mysql"), AtStart())]) as nemesis:
        pass

    assert problems(nemesis) == ["fault fault on mysql did not bite: nothing was seen"]
    assert stage.injections[0].did == ["begin", "end"]
    assert stage.events.seen == [("fault.begin", "mysql")]


def test_a_fault_that_does_not_heal_is_a_problem() -> None:
    stage = ThreadStage(heals=False)
    with storm(stage, [Strike(KillService("mysql"), AtStart())]) as nemesis:
        pass

    assert problems(nemesis) == ["fault fault on mysql did not heal: it does not answer"]
    assert ("fault.healed", "mysql") not in stage.events.seen


def test_a_process_is_caught_at_the_point_and_let_go_only_after_the_fault_has_bitten() -> None:
    answered = threading.Event()
    seen_while_held: list[bool] = []

    def bites() -> bool:
        seen_while_held.append(answered.is_set())
        return True

    stage = ThreadStage(bites=bites)

    def ask() -> None:
        stage.outside.answer(Request(op="effect", actor="worker-2", task="task-7"))
        answered.set()

    with storm(stage, [Strike(PauseProcess(), EffectAccepted(1))]) as nemesis:
        worker = threading.Thread(target=ask)
        worker.start()
        worker.join()

    (state,) = nemesis.states
    assert (state.target, state.subject, state.problem) == ("worker-2", "task-7", "")
    assert seen_while_held == [False]


def test_a_process_that_has_to_go_on_to_be_struck_is_let_go_before() -> None:
    """A worker that is told to end ends what it has in hand: held for ever, it would never end."""
    answered = threading.Event()
    stage = ThreadStage(bites=lambda: answered.wait(60.0))

    def ask() -> None:
        stage.outside.answer(Request(op="arrive", actor="worker-2", point="attempt", subject="task-7"))
        answered.set()

    with storm(stage, [Strike(StopProcess(), AttemptBegun(1))]) as nemesis:
        worker = threading.Thread(target=ask)
        worker.start()
        worker.join()

    (state,) = nemesis.states
    assert (state.target, state.subject, state.problem) == ("worker-2", "task-7", "")


def test_a_strike_begins_after_the_end_of_the_one_before_whether_it_bit_or_not() -> None:
    stage = ThreadStage(bites=lambda: False)

    with storm(
        stage, [Strike(KillService("redis"), AtStart()), Strike(KillService("mysql"), PreviousOver(0.0))]
    ) as nemesis:
        nemesis.await_over()

    assert [injection.target for injection in stage.injections] == ["redis", "mysql"]


def test_a_child_that_is_killed_is_a_crash_of_its_process_which_goes_on() -> None:
    stage = ThreadStage()

    with storm(stage, [Strike(KillChild("worker-1"), AtStart())]) as nemesis:
        nemesis.await_over()
        held_down = nemesis.holds_down("worker-1")

    assert stage.events.seen == [
        (step, "worker-1") for step in ("fault.begin", "crash", "fault.bit", "fault.end", "fault.healed")
    ]
    assert not held_down


def test_a_sync_point_is_released_also_by_a_fault_that_does_not_bite() -> None:
    stage = ThreadStage(bites=lambda: False)

    with storm(stage, [Strike(PauseProcess(), EffectAccepted(1))]) as nemesis:
        stage.outside.answer(Request(op="effect", actor="worker-2", task="task-7"))  # else it would never return

    assert nemesis.states[0].problem


def test_a_strike_after_one_that_did_not_bite_does_not_begin() -> None:
    stage = ThreadStage(bites=lambda: False)

    with storm(
        stage, [Strike(KillService("redis"), AtStart()), Strike(KillService("mysql"), PreviousBit(0.0))]
    ) as nemesis:
        nemesis.await_over()

    assert nemesis.states[1].problem.endswith("the previous strike did not bite")
    assert [injection.target for injection in stage.injections] == ["redis"]


def test_a_strike_waits_for_acknowledgements_since_the_one_before_bit() -> None:
    acknowledged_at_bite: list[int] = []

    def bites() -> bool:
        acknowledged_at_bite.append(stage.submissions.acknowledged)
        return True

    stage = ThreadStage(bites=bites)
    stage.submissions.note("before", Outcome("ok"))
    strikes = [Strike(KillService("redis"), AtStart()), Strike(KillService("mysql"), PreviousBit(0.0, acknowledged=2))]

    with storm(stage, strikes) as nemesis:
        nemesis.changed.wait_until(lambda: nemesis.states[0].bit_ns is not None)
        for task in ("a", "b"):
            stage.submissions.note(task, Outcome("ok"))
        nemesis.await_over()

    assert acknowledged_at_bite == [1, 3]
    assert nemesis.states[1].facts().when.endswith("bit, and 2 submissions were acknowledged since")


def test_a_system_that_acknowledges_nothing_is_struck_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triggers, "ACKNOWLEDGED_WITHIN_S", 0.05)
    stage = ThreadStage()
    strikes = [Strike(KillService("redis"), AtStart()), Strike(KillService("mysql"), PreviousBit(0.0, acknowledged=2))]

    with storm(stage, strikes) as nemesis:
        nemesis.await_over()

    assert [injection.target for injection in stage.injections] == ["redis", "mysql"]
    assert problems(nemesis) == []


def test_a_strike_lasts_until_the_next_one_bites() -> None:
    stage = ThreadStage()
    strikes = [
        Strike(PauseProcess("worker-1"), AtStart(), UntilNextBites()),
        Strike(KillService("mysql"), PreviousBit(0.0)),
    ]

    with storm(stage, strikes) as nemesis:
        nemesis.await_over()

    order = stage.events.seen
    assert order.index(("fault.bit", "mysql")) < order.index(("fault.end", "worker-1"))


def test_a_fault_that_waits_for_traffic_waits_as_long_as_there_may_be_any() -> None:
    looks = iter([False, False, True])
    stage = ThreadStage(bites=lambda: next(looks))

    with storm(stage, [Strike(SwallowAck("worker-1", 3), AtStart())]) as nemesis:
        nemesis.await_over()

    assert problems(nemesis) == []


def test_what_is_struck_when_the_run_is_interrupted_is_lifted_at_once_without_a_wait_for_its_health() -> None:
    stage = ThreadStage()

    with storm(stage, [Strike(KillService("mysql"), AtStart(), FOR_EVER_S)]) as nemesis:
        nemesis.changed.wait_until(nemesis.is_striking)
        nemesis.abort()
        nemesis.await_over()

    assert stage.injections[0].did == ["begin", "bit", "end"]


def test_a_killed_process_is_the_strikes_to_start_again_until_it_has_healed() -> None:
    stage = ThreadStage()
    strikes = [
        Strike(KillProcess("worker-1"), AtStart(), UntilNextBites()),
        Strike(KillService("mysql"), Effects(1)),
    ]

    with storm(stage, strikes) as nemesis:
        nemesis.changed.wait_until(nemesis.is_striking)
        held_down = [nemesis.holds_down("worker-1"), nemesis.holds_down("worker-2")]
        stage.outside.answer(Request(op="effect", actor="worker-2", task="task-7"))
        nemesis.await_over()

    assert held_down == [True, False]
    assert not nemesis.holds_down("worker-1")


def test_a_process_that_is_lost_is_never_started_again() -> None:
    stage = ThreadStage()

    with storm(stage, [Strike(LoseProcess("worker-1"), AtStart())]) as nemesis:
        nemesis.await_over()

    assert nemesis.holds_down("worker-1")
    assert stage.events.names == ["fault.begin", "crash", "fault.bit", "fault.end", "fault.healed"]


def test_every_step_of_a_fault_says_when_it_was_asked_for_and_when_it_was_seen() -> None:
    stage = ThreadStage()

    strike_all(stage, Strike(KillProcess("worker-2"), AtStart()))

    asked = {one["event"]: (one["asked_ns"], one["t_ns"]) for one in stage.events.recorded}
    begun_ns = asked["fault.begin"][0]
    assert all(asked_ns <= t_ns for asked_ns, t_ns in asked.values())
    assert asked["crash"][0] == asked["fault.bit"][0] == begun_ns < asked["crash"][1]
    assert asked["fault.healed"][0] == asked["restart"][0] == asked["fault.end"][0] < asked["fault.healed"][1]


def test_a_fault_that_waits_for_traffic_is_not_on_while_it_waits() -> None:
    """Else whatever happens meanwhile would be excused by it."""
    looks = iter([False, False, True])
    stage = ThreadStage(bites=lambda: next(looks))

    (state,) = strike_all_in_time(stage, Strike(SwallowAck("worker-1", 3), AtStart()))

    assert stage.events.names == ["fault.begin", "fault.bit", "fault.end", "fault.healed"]
    assert stage.injections[0].did[:2] == ["begin", "bit"]
    assert state.begun_ns is not None


def test_a_fault_that_waits_for_traffic_which_never_comes_leaves_no_trace_in_the_history() -> None:
    stage = ThreadStage(bites=lambda: False)

    (state,) = strike_all(stage, Strike(SwallowAck("worker-1", 3), AtStart()))

    assert stage.events.names == []
    assert state.problem


def strike_all_in_time(stage: ThreadStage, *strikes: Strike) -> list[StrikeState]:
    """Every strike until it is over by itself."""
    with storm(stage, strikes) as nemesis:
        nemesis.await_over()
    return nemesis.states
