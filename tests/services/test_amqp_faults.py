"""Through the relay to a real broker: nothing lost at rest; then exactly one ack, exactly one confirm."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pika
import pytest
from pika.exceptions import AMQPError

from chaos.environment import Services
from chaos.environments.local import LocalEnvironment
from chaos.errors import ChaosError, FaultDidNotBite
from chaos.faults import KillService, SwallowAck, WithholdConfirm
from chaos.hosting.processes import HostedProcess
from chaos.injection import Evidence, Message
from chaos.services.addresses import RabbitmqAddress

pytestmark = pytest.mark.services

PATIENCE_S = 60.0
TASKS = 20
Provision = Callable[..., Services]
StartProcess = Callable[..., HostedProcess]


@contextmanager
def channel_to(address: RabbitmqAddress | None) -> Iterator[pika.adapters.blocking_connection.BlockingChannel]:
    assert address is not None
    parameters = pika.URLParameters(address.url)
    parameters.heartbeat = 0
    connection = pika.BlockingConnection(parameters)
    try:
        channel = connection.channel()
        channel.confirm_delivery()
        yield channel
    finally:
        with suppress(AMQPError):
            connection.close()


def declare(services: Services) -> str:
    with channel_to(services.rabbitmq) as channel:
        channel.queue_declare(services.namespace, durable=True, arguments={"x-queue-type": "quorum"})
    return services.namespace


def publish_tasks(services: Services, queue: str) -> None:
    with channel_to(services.rabbitmq) as channel:
        for number in range(TASKS):
            channel.basic_publish("", queue, json.dumps({"task": f"t-{number}"}).encode())


def consume_until_cut(address: RabbitmqAddress | None, queue: str) -> list[str]:
    """The tasks received and acknowledged one by one, until the queue is empty or the connection breaks."""
    received = []
    with channel_to(address) as channel:
        channel.basic_qos(prefetch_count=1)
        with suppress(AMQPError):
            for method, _, body in channel.consume(queue, inactivity_timeout=1.0):
                if method is None:
                    break
                received.append(str(json.loads(body)["task"]))
                channel.basic_ack(method.delivery_tag)
    return received


def test_at_rest_every_task_passes_once_and_is_counted(local: LocalEnvironment, provision: Provision) -> None:
    services = provision(["worker-1"])
    queue = declare(services)

    linked = services.as_seen_by("worker-1")
    publish_tasks(linked, queue)
    received = consume_until_cut(linked.rabbitmq, queue)

    assert received == [f"t-{number}" for number in range(TASKS)]
    counted = local.counters("worker-1")
    assert (counted.publishes, counted.confirms, counted.deliveries, counted.acks) == (TASKS, TASKS, TASKS, TASKS)


def test_exactly_the_nth_ack_is_lost_and_its_task_comes_again(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess
) -> None:
    services = provision(["worker-1", "worker-2"])
    queue = declare(services)
    publish_tasks(services, queue)
    injection = local.injection(SwallowAck("worker-1", 5), services, {"worker-1": start_process()})
    injection.begin()

    before = consume_until_cut(services.as_seen_by("worker-1").rabbitmq, queue)
    evidence = injection.await_bite(PATIENCE_S)

    assert before[:5] == [f"t-{number}" for number in range(5)]
    assert evidence.words == "basic.ack 5 (delivery tag 5) did not pass, its connection was cut; channel 1; 1 message"
    assert evidence.messages == (Message('{"task": "t-4"}'),)
    injection.end()
    injection.await_healed(PATIENCE_S)
    after = consume_until_cut(services.as_seen_by("worker-2").rabbitmq, queue)
    assert after[0] == "t-4"
    assert sorted({*before[:4], *after}) == sorted(f"t-{number}" for number in range(TASKS))
    assert not set(before[:4]) & set(after)


def test_an_ack_that_never_comes_is_no_bite_and_says_how_many_came(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess
) -> None:
    services = provision(["worker-1"])
    queue = declare(services)
    publish_tasks(services, queue)
    injection = local.injection(SwallowAck("worker-1", 1_000), services, {"worker-1": start_process()})
    injection.begin()
    consume_until_cut(services.as_seen_by("worker-1").rabbitmq, queue)

    for _ in range(2):  # asked in slices, as long as there is traffic
        with pytest.raises(FaultDidNotBite, match=f"waits for operation 1000, and has counted {TASKS}"):
            injection.await_bite(0.1)

    injection.end()
    injection.await_healed(PATIENCE_S)


def test_a_withheld_confirm_leaves_its_message_in_the_queue_and_its_publisher_in_the_dark(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess
) -> None:
    services = provision(["relay-1"])
    queue = declare(services)
    injection = local.injection(WithholdConfirm("relay-1", 3), services, {"relay-1": start_process(name="relay-1")})
    injection.begin()
    confirmed: list[int] = []
    linked = services.as_seen_by("relay-1").rabbitmq

    with channel_to(linked) as channel:
        for number in range(2):
            channel.basic_publish("", queue, json.dumps({"task": f"t-{number}"}).encode())
            confirmed.append(number)
        evidence: list[Evidence] = []
        healer = threading.Thread(target=lambda: (evidence.append(injection.await_bite(PATIENCE_S)), injection.end()))
        healer.start()
        with pytest.raises(AMQPError):  # cut off when the fault ends, and not a moment before
            channel.basic_publish("", queue, json.dumps({"task": "t-2"}).encode())
    healer.join()

    assert evidence[0].words.startswith(
        "basic.publish 3 (number 3 of its channel) passed, nothing after it; its confirm is kept back"
    )
    assert evidence[0].messages == (Message('{"task": "t-2"}'),)
    injection.await_healed(PATIENCE_S)
    assert consume_until_cut(linked, queue) == ["t-0", "t-1", "t-2"]
    assert confirmed == [0, 1]


def test_a_confirm_that_is_never_due_is_no_bite(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess
) -> None:
    services = provision(["relay-1"])
    injection = local.injection(WithholdConfirm("relay-1", 1), services, {"relay-1": start_process(name="relay-1")})
    injection.begin()

    with pytest.raises(FaultDidNotBite, match="waits for operation 1, and has counted 0"):
        injection.await_bite(0.1)

    injection.end()
    injection.end()
    injection.await_healed(PATIENCE_S)


@pytest.mark.parametrize("nth", [0, -1])
def test_counting_from_zero_is_refused(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess, nth: int
) -> None:
    services = provision(["worker-1"])

    with pytest.raises(ChaosError, match="counts from 1"):
        local.injection(SwallowAck("worker-1", nth), services, {"worker-1": start_process()})


def test_a_process_without_a_link_cannot_lose_an_ack(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess
) -> None:
    with pytest.raises(ChaosError, match="no link to rabbitmq"):
        local.injection(SwallowAck("worker-1", 1), provision(), {"worker-1": start_process()})


def test_while_the_broker_is_down_the_link_refuses_and_afterwards_it_passes(
    local: LocalEnvironment, provision: Provision
) -> None:
    services = provision(["worker-1"])
    linked = services.as_seen_by("worker-1").rabbitmq
    injection = local.injection(KillService("rabbitmq"), services, {})
    injection.begin()
    injection.await_bite(PATIENCE_S)

    with pytest.raises(AMQPError), channel_to(linked):
        pass

    injection.end()
    injection.await_healed(PATIENCE_S)
    with channel_to(linked) as channel:
        assert channel.is_open


def test_links_of_a_run_are_closed_by_the_next(local: LocalEnvironment, provision: Provision) -> None:
    old = provision(["worker-1"]).as_seen_by("worker-1").rabbitmq
    provision(["worker-1"])

    with pytest.raises(AMQPError), channel_to(old):
        pass
