"""Faults of simulated worlds: what each does, that faults which overlap do not undo each other, and that all of them are there."""

from importlib.util import find_spec
from random import Random

import pytest

from chaos.errors import ChaosError, FaultDidNotBite
from chaos.faults import (
    FAULTS,
    DegradeNetwork,
    EvictKeys,
    Fault,
    FlushKeys,
    KillChild,
    KillProcess,
    KillService,
    LoseProcess,
    PauseProcess,
    PauseService,
    StopProcess,
    SwallowAck,
    WithholdConfirm,
    injector_name,
)
from chaos.injection import Injection, Message
from chaos.simulation import SERVICES
from chaos.simulation.injectors import injection
from chaos.simulation.kernel.clock import ns
from chaos.simulation.network.network import Line, LineCut
from tests.network_table import QUESTION_BYTES, TABLE, Row
from tests.unit.chaos.small_world import Failed, Letter, SmallWorld, Topology

TIMEOUT_S = 5.0


@pytest.fixture
def small() -> SmallWorld:
    return SmallWorld()


def make(small: SmallWorld, fault: Fault) -> Injection:
    return injection(fault, small.world, Random(1))


def strike(small: SmallWorld, fault: Fault) -> Injection:
    made = make(small, fault)
    made.begin()
    return made


def ask(line: Line) -> str:
    """How a question ends: `answered`, or how the line was cut."""
    question = "x" * QUESTION_BYTES
    try:
        line.ask("echo", lambda: question, timeout_ns=ns(TIMEOUT_S), payload=(question,))
    except LineCut as cut:
        return cut.how
    return "answered"


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_every_fault_has_an_injector_in_each_world(name: str) -> None:
    module = injector_name(FAULTS[name])

    assert find_spec(f"chaos.injectors.{module}")
    assert find_spec(f"chaos.simulation.injectors.{module}")


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_a_network_fault_costs_what_the_table_says(small: SmallWorld, row: Row) -> None:
    def body() -> None:
        line = small.process.lines["redis"]
        with small.timed() as clean:
            assert ask(line) == "answered"

        fault = strike(small, DegradeNetwork("worker-1", "redis", row.kind, row.value))
        with small.timed() as degraded:
            end = ask(line)
        fault.end()

        assert end == ("unanswered" if row.breaks else "answered")
        assert degraded[0] - clean[0] == pytest.approx(row.takes_s, abs=0.005)
        with small.timed() as healed:
            assert ask(line) == "answered"
        assert healed == clean

    small.run(body)


def test_of_two_black_holes_on_one_line_the_second_stays_when_the_first_is_lifted(small: SmallWorld) -> None:
    def body() -> None:
        line = small.process.lines["redis"]
        first, second = (strike(small, DegradeNetwork("worker-1", "redis", "blackhole")) for _ in range(2))

        first.end()
        first.end()
        assert line.blocked
        assert ask(line) == "unsent"

        second.end()
        assert not line.blocked
        assert ask(line) == "answered"

    small.run(body)


def test_faults_of_different_kinds_on_one_line_add_up_and_are_lifted_one_by_one(small: SmallWorld) -> None:
    def body() -> None:
        line = small.process.lines["redis"]
        delays = [strike(small, DegradeNetwork("worker-1", "redis", "delay", value)) for value in (100.0, 50.0)]
        refuse = strike(small, DegradeNetwork("worker-1", "redis", "refuse"))
        took = []

        assert ask(line) == "refused"
        refuse.end()
        for fault in (*delays, None):
            with small.timed() as seconds:
                assert ask(line) == "answered"
            took.append(round(seconds[0], 1))
            if fault is not None:
                fault.end()

        assert took == [0.3, 0.1, 0.0]

    small.run(body)


def test_a_slow_line_takes_longer_for_a_longer_answer_of_the_broker(small: SmallWorld) -> None:
    def body() -> None:
        small.broker.declare(Topology())
        consumer = small.broker.open_consumer("work", prefetch=1)
        strike(small, DegradeNetwork("worker-1", "rabbitmq", "slow", 10.0))
        took = []
        for size in (100, 5_000):
            with small.timed() as seconds:
                small.world.broker.receive("work", b"x" * size, lambda _: None)
                delivery = consumer.receive(timeout_s=TIMEOUT_S)
            assert delivery is not None
            consumer.ack(delivery)
            small.rest(1.0)
            took.append(round(seconds[0], 2))

        assert took == [0.02, 0.51]

    small.run(body)


def test_a_delivery_on_a_resetting_line_resets_the_connection_and_comes_again(small: SmallWorld) -> None:
    def body() -> None:
        small.broker.declare(Topology())
        consumer = small.broker.open_consumer("work", prefetch=1)
        fault = strike(small, DegradeNetwork("worker-1", "rabbitmq", "reset", 200.0))

        small.world.broker.receive("work", b"task", lambda _: None)
        assert consumer.receive(timeout_s=1.0) is None
        with pytest.raises(Failed, match="reset"):
            consumer.receive(timeout_s=1.0)
        fault.end()
        again = small.broker.open_consumer("work", prefetch=1).receive(timeout_s=TIMEOUT_S)

        assert again is not None
        assert (again.body, again.redelivered) == (b"task", True)

    small.run(body)


def deliver(small: SmallWorld, *bodies: bytes) -> None:
    for body in bodies:
        small.world.broker.receive("work", body, lambda _: None)


def test_exactly_the_nth_ack_is_swallowed_and_its_message_is_the_evidence(small: SmallWorld) -> None:
    def body() -> None:
        small.broker.declare(Topology())
        consumer = small.broker.open_consumer("work", prefetch=1)
        fault = strike(small, SwallowAck("worker", 2))
        deliver(small, b'{"id": 1}', b'{"id": 907}')

        for _ in range(2):
            delivery = consumer.receive(timeout_s=TIMEOUT_S)
            assert delivery is not None
            consumer.ack(delivery)
        evidence = fault.await_bite(TIMEOUT_S)

        assert evidence.messages == (Message('{"id": 907}'),)
        assert "907" not in evidence.words
        assert evidence.at_ns == small.world.now_ns
        fault.end()
        again = small.broker.open_consumer("work", prefetch=1).receive(timeout_s=TIMEOUT_S)
        assert again is not None
        assert again.body == b'{"id": 907}'

    small.run(body)


def test_two_faults_that_watch_one_line_both_bite(small: SmallWorld) -> None:
    def body() -> None:
        small.broker.declare(Topology())
        first, second = strike(small, SwallowAck("worker-1", 1)), strike(small, SwallowAck("worker-1", 2))
        withheld = strike(small, WithholdConfirm("worker-1", 1))
        deliver(small, b"a", b"b")

        for _ in range(2):
            consumer = small.broker.open_consumer("work", prefetch=1)
            delivery = consumer.receive(timeout_s=TIMEOUT_S)
            assert delivery is not None
            consumer.ack(delivery)
            small.rest(0.1)
        outcomes = small.broker.open_publisher().publish([Letter(b"c")], timeout_s=1.0)

        seen = [[message.body for message in one.await_bite(0.0).messages] for one in (first, second, withheld)]
        assert outcomes == ["unknown"]
        assert seen == [["a"], ["a"], ["c"]]  # the message of the first ack comes again

    small.run(body)


def test_a_withheld_confirm_freezes_the_line_beside_another_fault_and_lifts_its_own_freeze_alone(
    small: SmallWorld,
) -> None:
    def body() -> None:
        small.broker.declare(Topology())
        publisher = small.broker.open_publisher()
        fault = strike(small, WithholdConfirm("worker-1", 1))
        assert publisher.publish([Letter(b"a")], timeout_s=0.5) == ["unknown"]
        other = strike(small, DegradeNetwork("worker-1", "rabbitmq", "blackhole"))

        fault.end()
        assert small.process.lines["rabbitmq"].blocked
        other.end()

        assert not small.process.lines["rabbitmq"].blocked
        assert small.broker.depth("work") == 1

    small.run(body)


def test_a_fault_that_waits_for_traffic_is_awaited_in_slices_and_woken_when_it_comes(small: SmallWorld) -> None:
    def body() -> None:
        small.broker.declare(Topology())
        fault = strike(small, WithholdConfirm("worker-1", 1))
        for _ in range(2):
            with small.timed() as slice_s, pytest.raises(FaultDidNotBite, match="traffic that it waits for"):
                fault.await_bite(0.25)
            assert slice_s == [0.25]

        small.in_worker(lambda: small.broker.open_publisher().publish([Letter(b"a")], timeout_s=1.0))
        with small.timed() as took:
            fault.await_bite(TIMEOUT_S)

        assert took[0] < 0.01

    small.run(body)


def test_a_killed_process_is_dead_until_the_fault_is_lifted(small: SmallWorld) -> None:
    def body() -> None:
        fault = strike(small, KillProcess("worker"))

        assert fault.await_bite(TIMEOUT_S).words
        assert not small.process.is_alive()
        with pytest.raises(FaultDidNotBite, match="dead already"):
            make(small, KillProcess("worker-1"))
        for late in (PauseProcess("worker-1"), SwallowAck("worker-1", 1)):
            with pytest.raises(FaultDidNotBite):
                make(small, late)

        fault.end()
        fault.end()
        fault.await_healed(TIMEOUT_S)
        assert (small.process.is_alive(), small.process.incarnation) == (True, 2)

    small.run(body)


def test_a_lost_process_stays_dead_and_its_fault_is_over_at_once(small: SmallWorld) -> None:
    def body() -> None:
        fault = strike(small, LoseProcess("worker-1"))

        assert not small.process.is_alive()
        fault.end()
        fault.await_healed(TIMEOUT_S)
        assert not small.process.is_alive()

    small.run(body)


def test_a_paused_service_answers_nothing_until_it_goes_on(small: SmallWorld) -> None:
    def body() -> None:
        line = small.process.lines["redis"]
        fault = strike(small, PauseService("mysql"))

        assert (small.process.lines["mysql"].blocked, line.blocked) == (True, False)
        assert ask(line) == "answered"
        fault.end()
        fault.await_healed(TIMEOUT_S)
        assert not small.process.lines["mysql"].blocked

    small.run(body)


def test_a_paused_process_stands_still_and_is_not_paused_twice(small: SmallWorld) -> None:
    def body() -> None:
        fault = strike(small, PauseProcess("worker-1"))
        ended = small.in_worker(lambda: "done")

        small.rest(1.0)
        assert ended == []
        with pytest.raises(FaultDidNotBite, match="paused already"):
            make(small, PauseProcess("worker-1"))
        fault.end()
        small.rest(0.1)

        assert ended == ["done"]
        fault.await_healed(TIMEOUT_S)

    small.run(body)


def test_a_pause_is_over_when_another_fault_has_killed_what_stood_still(small: SmallWorld) -> None:
    """World swarm~reference~4426: a worker was paused and killed in one instant, and the run was unknown."""

    def body() -> None:
        pause, kill = strike(small, PauseProcess("worker-1")), strike(small, KillProcess("worker-1"))

        pause.end()
        pause.await_healed(TIMEOUT_S)
        kill.end()
        kill.await_healed(TIMEOUT_S)

        assert (small.process.is_alive(), small.process.is_paused()) == (True, False)

    small.run(body)


def test_a_killed_service_refuses_until_it_is_started_again(small: SmallWorld) -> None:
    def body() -> None:
        fault = strike(small, KillService("rabbitmq"))

        assert ask(small.process.lines["rabbitmq"]) == "refused"
        with pytest.raises(FaultDidNotBite, match="down already"):
            make(small, KillService("rabbitmq"))
        fault.end()

        assert ask(small.process.lines["rabbitmq"]) == "answered"

    small.run(body)


def test_a_stopped_process_runs_again_when_it_is_started_again(small: SmallWorld) -> None:
    def body() -> None:
        fault = strike(small, StopProcess("worker-1"))
        assert not small.process.is_alive()
        fault.end()
        fault.await_healed(TIMEOUT_S)
        assert small.process.is_alive()

    small.run(body)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (KillChild("worker-1"), "its processes have no children"),
        (FlushKeys("rabbitmq"), "keys_flushed strikes the keys of a Redis, not rabbitmq"),
        (EvictKeys("redis", "lifo"), "no policy of eviction is called 'lifo'"),
        (KillProcess("nobody"), "no process here has the name or role 'nobody'"),
        (KillService("kafka"), "no service 'kafka' here"),
        (PauseService("kafka"), "no service 'kafka' here"),
        (PauseService("redis"), "a paused Redis is failed over by its Sentinels: use redis_failed_over"),
        (DegradeNetwork("worker-1", "kafka", "delay", 5.0), "no line leads to 'kafka'"),
        (DegradeNetwork("worker-1", "redis", "wobble"), "no network fault is called 'wobble'"),
        (DegradeNetwork("worker-1", "redis", "slow", 0.0), "needs a value of 1 or more"),
        (SwallowAck("worker-1", 0), "counts from 1, not from 0"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(small: SmallWorld, fault: Fault, why: str) -> None:
    def body() -> None:
        with pytest.raises(ChaosError, match=why):
            make(small, fault)

    small.run(body)


def test_a_world_has_the_simulated_services_and_the_outside_resource(small: SmallWorld) -> None:
    assert set(small.world.services) == {*SERVICES, "outside"}
