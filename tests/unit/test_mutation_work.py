"""How much a mutant works, compared with the unchanged reference."""

from chaos.simulation.kernel.trace import Step
from tasklab.mutation.work import calls_of, excess

PUBLISH = "relay relay rabbitmq: publish"
ACQUIRE = "rescuer rescuer redis: acquire lock"


def test_calls_are_counted_by_role_and_loop_and_the_calls_of_the_lab_are_not() -> None:
    fibers = ("worker-1/slot 1", "worker-2.3/slot 2", "worker-1/heartbeat", "api-2/client-task-1:4", "client-task-1")

    counted = calls_of(Step(0, fiber, "mysql", "commit", "") for fiber in fibers)

    assert counted == {"worker slot mysql: commit": 2, "worker heartbeat mysql: commit": 1, "api mysql: commit": 1}


def test_more_than_twice_as_many_calls_and_one_a_world_are_too_many() -> None:
    assert excess(24, {PUBLISH: 224, ACQUIRE: 24}, {PUBLISH: 100}) == ""
    assert excess(24, {PUBLISH: 225, ACQUIRE: 24}, {PUBLISH: 100}) == f"{PUBLISH}, 225 times instead of 100"
    assert excess(24, {ACQUIRE: 25}, {}) == f"{ACQUIRE}, 25 times instead of 0"


def test_less_work_is_not_too_much() -> None:
    assert excess(24, {}, {PUBLISH: 100}) == ""
