"""The nemesis at work: a strike waits for its moment, proves its bite, lasts, is lifted and proves that it healed; or says what failed."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chaos.environment import ProcessSpec
from chaos.errors import FaultDidNotBite, FaultDidNotHeal
from chaos.faults import Fault, KillProcess, KillService, PauseProcess, SwallowAck
from chaos.injection import Evidence
from scenarios.contract.tasklab_probe import Recorder
from scenarios.experiment.nemesis import Course, Nemesis
from scenarios.experiment.outside import OutsideServer, Request
from scenarios.experiment.scenario import AtStart, EffectAccepted, Effects, PreviousBit, Strike, UntilNextBites
from scenarios.experiment.submissions import Submissions

FOR_EVER_S = 3600.0


@dataclass
class FakeProcess:
    spec: ProcessSpec


@dataclass
class FakeInjection:
    """A fault that does what it is told; `did` is what was done with it, in order."""

    fault: Fault
    bites: Callable[[], bool]
    heals: bool
    target: str = ""
    did: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.target = getattr(self.fault, "process", None) or getattr(self.fault, "service", "?")

    def begin(self) -> None:
        self.did.append("begin")

    def await_bite(self, timeout_s: float) -> Evidence:
        if not self.bites():
            raise FaultDidNotBite("fault", self.target, "nothing was seen")
        self.did.append("bit")
        return Evidence("seen")

    def end(self) -> None:
        if self.did[-1:] != ["end"]:
            self.did.append("end")

    def await_healed(self, timeout_s: float) -> None:
        if not self.heals:
            raise FaultDidNotHeal("fault", self.target, "it does not answer")
        self.did.append("healed")


class Events:
    """A recorder that keeps what it is given."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def now_ns(self) -> int:
        return len(self.seen) + 1

    def record(self, event: str, **fields: Any) -> None:
        self.seen.append((event, fields.get("target") or fields["actor"]))


class FakeWorld:
    """What strikes need of a run, with a real outside resource that is asked without any socket."""

    def __init__(self, directory: Path, *, bites: Callable[[], bool] = lambda: True, heals: bool = True) -> None:
        self.environment = self
        self.services = None
        self.processes = {name: FakeProcess(ProcessSpec(name, "worker", ["x"])) for name in ("worker-1", "worker-2")}
        self.outside = OutsideServer(Recorder(str(directory / "outside.jsonl"), "outside", 0))
        self.recorder = Events()
        self.submissions = Submissions(self.recorder)  # type: ignore[arg-type]
        self.injections: list[FakeInjection] = []
        self._bites = bites
        self._heals = heals

    def injection(self, fault: Fault, services: object, processes: object) -> FakeInjection:
        self.injections.append(FakeInjection(fault, self._bites, self._heals))
        return self.injections[-1]


MakeWorld = Callable[..., FakeWorld]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    made: list[FakeWorld] = []

    def make(**how: Any) -> FakeWorld:
        made.append(FakeWorld(tmp_path, **how))
        return made[-1]

    yield make
    for world in made:
        world.outside._server.server_close()


def nemesis_of(world: FakeWorld, strikes: Sequence[Strike]) -> Nemesis:
    return Nemesis(world, strikes, lambda _: None)  # type: ignore[arg-type]


def join_all(nemesis: Nemesis) -> None:
    """Until all strikes are over, without giving up on any."""
    for thread in nemesis._threads:
        thread.join()


def strike_all(world: FakeWorld, *strikes: Strike) -> list[Course]:
    """Every strike until it is over; none whose moment does not come is waited for."""
    with nemesis_of(world, strikes) as nemesis:
        nemesis.give_up()
    assert nemesis.over()
    return nemesis.courses


def test_a_strike_goes_from_its_beginning_to_its_healing_and_the_history_tells_each_step(make_world: MakeWorld) -> None:
    world = make_world()

    (course,) = strike_all(world, Strike(KillProcess("worker-2"), AtStart()))

    steps = ("fault.begin", "crash", "fault.bit", "fault.end", "restart", "fault.healed")
    assert world.recorder.seen == [(step, "worker-2") for step in steps]
    assert world.injections[0].did == ["begin", "bit", "end", "healed", "end"]
    facts = course.facts()
    assert (facts.fault, facts.target, facts.evidence, facts.problem) == ("process_killed", "worker-2", "seen", "")
    assert facts.begun_ns < facts.bit_ns < facts.ended_ns < facts.healed_ns  # type: ignore[operator]


def test_a_role_names_the_first_process_that_plays_it(make_world: MakeWorld) -> None:
    (course,) = strike_all(make_world(), Strike(KillProcess("worker"), AtStart()))

    assert (course.target, course.facts().roles) == ("worker-1", ("worker",))


def test_a_strike_whose_moment_never_came_has_missed_and_touched_nothing(make_world: MakeWorld) -> None:
    world = make_world()

    (course,) = strike_all(world, Strike(KillService("mysql"), Effects(5)))

    assert course.problem.endswith("its moment never came: 5 effects were accepted")
    assert (world.injections, world.recorder.seen) == ([], [])


def test_effects_are_counted_from_when_the_storm_begins(make_world: MakeWorld) -> None:
    """The warm-up has had one by then: a scenario means its own tasks."""
    world = make_world()
    world.outside.answer(Request(op="effect", actor="worker-1", task="warm-up"))

    (missed,) = strike_all(world, Strike(KillService("mysql"), Effects(1)))
    with nemesis_of(world, [Strike(KillService("mysql"), Effects(1))]) as nemesis:
        world.outside.answer(Request(op="effect", actor="worker-1", task="task-1"))
        join_all(nemesis)

    assert missed.problem.endswith("its moment never came: 1 effects were accepted")
    assert nemesis.problems() == []


def test_a_fault_that_does_not_bite_is_lifted_and_is_a_problem(make_world: MakeWorld) -> None:
    world = make_world(bites=lambda: False)
    with nemesis_of(world, [Strike(KillService("mysql"), AtStart())]) as nemesis:
        nemesis.give_up()

    assert nemesis.problems() == ["fault fault on mysql did not bite: nothing was seen"]
    assert world.injections[0].did == ["begin", "end"]
    assert world.recorder.seen == [("fault.begin", "mysql")]


def test_a_fault_that_does_not_heal_is_a_problem(make_world: MakeWorld) -> None:
    world = make_world(heals=False)
    with nemesis_of(world, [Strike(KillService("mysql"), AtStart())]) as nemesis:
        nemesis.give_up()

    assert nemesis.problems() == ["fault fault on mysql did not heal: it does not answer"]
    assert ("fault.healed", "mysql") not in world.recorder.seen


def test_a_process_is_caught_at_the_point_and_let_go_only_after_the_fault_has_bitten(make_world: MakeWorld) -> None:
    answered = threading.Event()
    seen_while_held: list[bool] = []

    def bites() -> bool:
        seen_while_held.append(answered.is_set())
        return True

    world = make_world(bites=bites)

    def ask() -> None:
        world.outside.answer(Request(op="effect", actor="worker-2", task="task-7"))
        answered.set()

    with nemesis_of(world, [Strike(PauseProcess(), EffectAccepted(1))]) as nemesis:
        worker = threading.Thread(target=ask)
        worker.start()
        worker.join()

    (course,) = nemesis.courses
    assert (course.target, course.subject, course.problem) == ("worker-2", "task-7", "")
    assert seen_while_held == [False]


def test_a_gate_is_opened_also_by_a_fault_that_does_not_bite(make_world: MakeWorld) -> None:
    world = make_world(bites=lambda: False)

    with nemesis_of(world, [Strike(PauseProcess(), EffectAccepted(1))]) as nemesis:
        world.outside.answer(Request(op="effect", actor="worker-2", task="task-7"))  # else it would never return

    assert nemesis.courses[0].problem


def test_a_strike_after_one_that_did_not_bite_does_not_begin(make_world: MakeWorld) -> None:
    world = make_world(bites=lambda: False)

    with nemesis_of(
        world, [Strike(KillService("redis"), AtStart()), Strike(KillService("mysql"), PreviousBit(0.0))]
    ) as nemesis:
        join_all(nemesis)

    assert nemesis.courses[1].problem.endswith("the strike before it did not bite")
    assert [injection.target for injection in world.injections] == ["redis"]


class Acknowledging:
    """Submissions of which one more is acknowledged whenever they are looked at."""

    def __init__(self) -> None:
        self.looks = 0

    @property
    def acknowledged(self) -> int:
        self.looks += 1
        return self.looks


def test_a_strike_waits_for_acknowledgements_since_the_one_before_bit(make_world: MakeWorld) -> None:
    looks_at_bite: list[int] = []

    def bites() -> bool:
        looks_at_bite.append(submissions.looks)
        return True

    world, submissions = make_world(bites=bites), Acknowledging()
    world.submissions = submissions  # type: ignore[assignment]
    strikes = [Strike(KillService("redis"), AtStart()), Strike(KillService("mysql"), PreviousBit(0.0, acknowledged=2))]

    with nemesis_of(world, strikes) as nemesis:
        join_all(nemesis)

    assert looks_at_bite == [0, 3]
    assert nemesis.courses[1].facts().when.endswith("bit, and 2 submissions were acknowledged since")


def test_a_system_that_acknowledges_nothing_is_struck_all_the_same(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenarios.experiment.nemesis.ACKNOWLEDGED_WITHIN_S", 0.05)
    world = make_world()
    strikes = [Strike(KillService("redis"), AtStart()), Strike(KillService("mysql"), PreviousBit(0.0, acknowledged=2))]

    with nemesis_of(world, strikes) as nemesis:
        join_all(nemesis)

    assert [injection.target for injection in world.injections] == ["redis", "mysql"]
    assert nemesis.problems() == []


def test_a_strike_lasts_until_the_next_one_bites(make_world: MakeWorld) -> None:
    world = make_world()
    strikes = [
        Strike(PauseProcess("worker-1"), AtStart(), UntilNextBites()),
        Strike(KillService("mysql"), PreviousBit(0.0)),
    ]

    with nemesis_of(world, strikes) as nemesis:
        join_all(nemesis)

    order = world.recorder.seen
    assert order.index(("fault.bit", "mysql")) < order.index(("fault.end", "worker-1"))


def test_a_fault_that_waits_for_traffic_waits_as_long_as_there_may_be_any(make_world: MakeWorld) -> None:
    looks = iter([False, False, True])
    world = make_world(bites=lambda: next(looks))

    with nemesis_of(world, [Strike(SwallowAck("worker-1", 3), AtStart())]) as nemesis:
        join_all(nemesis)

    assert nemesis.problems() == []


def test_what_is_struck_when_the_run_is_interrupted_is_healed_at_once(make_world: MakeWorld) -> None:
    world = make_world()

    def interrupted() -> None:
        with nemesis_of(world, [Strike(KillService("mysql"), AtStart(), FOR_EVER_S)]) as nemesis:
            nemesis._bitten[0].wait()
            assert nemesis.strikes_now()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert world.injections[0].did == ["begin", "bit", "end", "healed", "end"]


def test_a_killed_process_is_the_strikes_to_start_again_until_it_has_healed(make_world: MakeWorld) -> None:
    world = make_world()
    strikes = [
        Strike(KillProcess("worker-1"), AtStart(), UntilNextBites()),
        Strike(KillService("mysql"), Effects(1)),
    ]

    with nemesis_of(world, strikes) as nemesis:
        nemesis._bitten[0].wait()
        held_down = nemesis.holds_down()
        world.outside.answer(Request(op="effect", actor="worker-2", task="task-7"))
        join_all(nemesis)

    assert held_down == {"worker-1"}
    assert nemesis.holds_down() == set()
