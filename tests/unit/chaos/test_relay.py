"""The relay passes every byte on as it came, in both directions, until a rule says otherwise; then exactly that."""

import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from pamqp import commands

from chaos.deadline import Deadline, wait
from chaos.injection import Message
from chaos.network.conversation import Counters
from chaos.network.rules import Firing, FreezeAtNthPublish, SwallowNthAck
from chaos.ports import is_refused
from tests.unit.chaos import amqp_bytes
from tests.worlds.relayed import (
    PATIENCE_S,
    SILENCE_S,
    Broker,
    RelayedWorld,
    is_cut,
    is_refused_or_cut,
    is_silent,
    read,
    read_to_the_end,
)

RESET = struct.pack("ii", 1, 0)


@pytest.fixture
def world() -> Iterator[RelayedWorld]:
    world = RelayedWorld()
    yield world
    world.close()


def amqp_stream(seed: int, size: int) -> bytes:
    chance = random.Random(seed)
    stream = bytearray(amqp_bytes.PREAMBLE)
    tag = 0
    while len(stream) < size:
        tag += 1
        stream += amqp_bytes.publish(chance.randbytes(chance.randrange(5_000)), channel=chance.randrange(1, 5))
        stream += amqp_bytes.ack(tag)
    return bytes(stream)


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.mark.parametrize("make", [amqp_stream, noise])
def test_with_no_rule_both_streams_are_the_same_at_both_ends(
    world: RelayedWorld, make: Callable[[int, int], bytes]
) -> None:
    client, broker = world.pair()
    up, down = make(7, 3_000_000), make(8, 3_000_000)
    senders = [
        threading.Thread(target=client.sendall, args=(up,)),
        threading.Thread(target=broker.sendall, args=(down,)),
    ]
    received: dict[str, bytes] = {}
    readers = [
        threading.Thread(target=lambda: received.update(up=read(broker, len(up)))),
        threading.Thread(target=lambda: received.update(down=read(client, len(down)))),
    ]

    for thread in senders + readers:
        thread.start()
    for thread in senders + readers:
        thread.join(PATIENCE_S)

    assert received == {"up": up, "down": down}


def test_a_reader_that_is_slow_slows_the_sender_and_costs_no_byte(world: RelayedWorld) -> None:
    client, broker = world.pair()
    stream = amqp_bytes.PREAMBLE + amqp_bytes.publish(b"x" * 100_000) * 400  # more than all buffers on the way hold
    sender = threading.Thread(target=client.sendall, args=(stream,))

    sender.start()
    sender.join(SILENCE_S)
    assert sender.is_alive(), "nobody reads, so not all of it can have been taken"

    assert read(broker, len(stream)) == stream
    sender.join(PATIENCE_S)


def test_a_client_that_has_said_all_still_hears_the_answer(world: RelayedWorld) -> None:
    client, broker = world.pair()
    client.sendall(amqp_bytes.PREAMBLE)
    client.shutdown(socket.SHUT_WR)

    assert read_to_the_end(broker) == amqp_bytes.PREAMBLE
    broker.sendall(amqp_bytes.HEARTBEAT)
    broker.close()

    assert read_to_the_end(client) == amqp_bytes.HEARTBEAT


def test_a_broker_that_dies_takes_its_clients_connection_with_it(world: RelayedWorld) -> None:
    client, broker = world.pair()
    broker.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    broker.close()

    assert is_cut(client)


def test_without_a_broker_a_connection_is_cut_and_with_one_again_it_passes(world: RelayedWorld) -> None:
    world.broker.close()
    assert is_refused_or_cut(world)

    world.broker = Broker(world.broker_port)
    client, broker = world.pair()
    client.sendall(amqp_bytes.PREAMBLE)

    assert read(broker, 8) == amqp_bytes.PREAMBLE


def test_a_frame_that_says_less_than_it_must_is_the_brokers_business(world: RelayedWorld) -> None:
    client, broker = world.pair()
    stub = b"\x01\x00\x01\x00\x00\x00\x04" + struct.pack(">I", commands.Basic.Ack.index) + b"\xce"
    world.link.arm(SwallowNthAck(1))

    client.sendall(amqp_bytes.PREAMBLE + stub + amqp_bytes.HEARTBEAT)

    assert read(broker, 8 + len(stub) + 8) == amqp_bytes.PREAMBLE + stub + amqp_bytes.HEARTBEAT


def test_exactly_the_nth_ack_is_swallowed_and_its_connection_cut(world: RelayedWorld) -> None:
    client, broker = world.pair()
    deliveries = b"".join(amqp_bytes.deliver(tag, f"task {tag}".encode()) for tag in range(1, 6))
    broker.sendall(deliveries)
    read(client, len(deliveries))
    armed = world.link.arm(SwallowNthAck(3))

    client.sendall(amqp_bytes.PREAMBLE + b"".join(amqp_bytes.ack(tag) for tag in (1, 2, 4, 5)))

    assert read_to_the_end(broker) == amqp_bytes.PREAMBLE + amqp_bytes.ack(1) + amqp_bytes.ack(2)
    broker.close()
    assert is_cut(client)
    assert armed.await_firing(PATIENCE_S) == Firing(
        SwallowNthAck(3),
        channel=1,
        tag=4,
        messages=(Message("task 4"),),
    )
    (interrupted,) = world.link.interruptions()
    assert interrupted.messages == (Message("task 3"), Message("task 5"))


@pytest.mark.parametrize("ends", ["broker", "client"])
def test_what_was_delivered_and_not_settled_when_its_connection_ended_is_told_once(
    world: RelayedWorld, ends: str
) -> None:
    client, broker = world.pair()
    deliveries = b"".join(amqp_bytes.deliver(tag, f"task {tag}".encode()) for tag in range(1, 4))
    broker.sendall(deliveries)
    read(client, len(deliveries))
    client.sendall(amqp_bytes.PREAMBLE + amqp_bytes.ack(2))
    read(broker, len(amqp_bytes.PREAMBLE + amqp_bytes.ack(2)))
    assert world.link.interruptions() == []

    ended, other = (broker, client) if ends == "broker" else (client, broker)
    ended.close()
    read_to_the_end(other)
    other.close()

    (interrupted,) = world.link.interruptions()
    assert (interrupted.process, interrupted.messages) == (world.link.name, (Message("task 1"), Message("task 3")))


def test_a_connection_that_ends_with_nothing_in_hand_interrupts_nothing(world: RelayedWorld) -> None:
    client, broker = world.pair()
    broker.sendall(amqp_bytes.deliver(1, b"task 1"))
    client.sendall(amqp_bytes.PREAMBLE + amqp_bytes.ack(1))
    read(broker, len(amqp_bytes.PREAMBLE + amqp_bytes.ack(1)))

    broker.close()
    read_to_the_end(client)

    assert world.link.interruptions() == []


def test_an_ack_is_counted_from_when_the_rule_is_armed_and_swallowed_once(world: RelayedWorld) -> None:
    client, broker = world.pair()
    client.sendall(amqp_bytes.PREAMBLE + amqp_bytes.ack(1))
    read(broker, 8 + len(amqp_bytes.ack(1)))
    armed = world.link.arm(SwallowNthAck(1))
    client.sendall(amqp_bytes.ack(2))
    assert armed.await_firing(PATIENCE_S) is not None

    later, broker = world.pair()
    later.sendall(amqp_bytes.PREAMBLE + amqp_bytes.ack(1))

    assert read(broker, 8 + len(amqp_bytes.ack(1))) == amqp_bytes.PREAMBLE + amqp_bytes.ack(1)


def test_a_rule_that_is_disarmed_waits_no_longer(world: RelayedWorld) -> None:
    client, broker = world.pair()
    armed = world.link.arm(SwallowNthAck(1))

    world.link.disarm(armed)
    client.sendall(amqp_bytes.PREAMBLE + amqp_bytes.ack(1))

    assert read(broker, 8 + len(amqp_bytes.ack(1))) == amqp_bytes.PREAMBLE + amqp_bytes.ack(1)
    assert armed.await_firing(0.0) is None


def test_after_the_nth_publish_nothing_passes_on_any_connection(world: RelayedWorld) -> None:
    client, broker = world.pair()
    bystander, broker_of_bystander = world.pair()
    hello = amqp_bytes.PREAMBLE + amqp_bytes.method(commands.Confirm.Select())
    for each in (client, bystander):
        each.sendall(hello)
    for each in (broker, broker_of_bystander):
        read(each, len(hello))
    armed = world.link.arm(FreezeAtNthPublish(2))

    client.sendall(amqp_bytes.publish(b"task a") + amqp_bytes.publish(b"task b") + amqp_bytes.publish(b"task c"))

    passed = amqp_bytes.publish(b"task a") + amqp_bytes.publish(b"task b")
    assert read(broker, len(passed)) == passed
    firing = Firing(FreezeAtNthPublish(2), channel=1, tag=2, in_confirm_mode=True, messages=(Message("task b"),))
    assert armed.await_firing(PATIENCE_S) == firing
    late = world.connect()
    for end in (client, bystander, broker, broker_of_bystander, late):
        with suppress(OSError):
            end.sendall(amqp_bytes.HEARTBEAT)
    assert all(is_silent(end) for end in (client, bystander, broker, broker_of_bystander, late))


def test_a_thaw_cuts_what_was_frozen_and_lets_new_connections_through(world: RelayedWorld) -> None:
    client, broker = world.pair()
    armed = world.link.arm(FreezeAtNthPublish(1))
    client.sendall(amqp_bytes.PREAMBLE + amqp_bytes.publish(b"task a"))
    assert armed.await_firing(PATIENCE_S) is not None
    late = world.connect()

    assert not wait(lambda: "" if world.link.counters().connections == 2 else "late", Deadline.after(PATIENCE_S))
    assert world.link.thaw(armed) == 2

    assert is_cut(client)
    assert is_cut(late)
    read(broker, len(amqp_bytes.PREAMBLE + amqp_bytes.publish(b"task a")))
    assert is_cut(broker)
    new, broker = world.pair()
    new.sendall(amqp_bytes.PREAMBLE)
    assert read(broker, 8) == amqp_bytes.PREAMBLE


def test_two_rules_on_one_link_both_count_and_one_thaw_leaves_the_other_freeze(world: RelayedWorld) -> None:
    client, broker = world.pair()
    first, second, never = (world.link.arm(FreezeAtNthPublish(nth)) for nth in (1, 1, 9))
    client.sendall(amqp_bytes.PREAMBLE + amqp_bytes.publish(b"task a"))
    read(broker, len(amqp_bytes.PREAMBLE + amqp_bytes.publish(b"task a")))
    assert first.await_firing(PATIENCE_S) == second.await_firing(PATIENCE_S) is not None

    assert world.link.thaw(first) == 0
    assert is_silent(broker)
    assert world.link.thaw(second) == 1

    assert is_cut(client)
    assert (never.seen, never.is_spent) == (1, False)


def test_two_acks_are_swallowed_by_two_rules(world: RelayedWorld) -> None:
    armed = [world.link.arm(SwallowNthAck(nth)) for nth in (1, 2)]
    for tag in (1, 2):
        client, broker = world.pair()
        client.sendall(amqp_bytes.PREAMBLE + amqp_bytes.ack(tag))
        assert read_to_the_end(broker) == amqp_bytes.PREAMBLE
        broker.close()

    assert [firing.tag for one in armed if (firing := one.await_firing(PATIENCE_S))] == [1, 2]


def test_a_thaw_without_a_freeze_cuts_nothing(world: RelayedWorld) -> None:
    client, broker = world.pair()
    armed = world.link.arm(FreezeAtNthPublish(1))

    assert world.link.thaw(armed) == 0

    client.sendall(amqp_bytes.PREAMBLE)
    assert read(broker, 8) == amqp_bytes.PREAMBLE


def test_the_health_address_is_neither_counted_nor_subject_to_rules(world: RelayedWorld) -> None:
    world.link.arm(SwallowNthAck(1))
    client, broker = world.connect(world.link.health_address), world.broker.accept()

    client.sendall(amqp_bytes.PREAMBLE + amqp_bytes.ack(1))

    assert read(broker, 8 + len(amqp_bytes.ack(1))) == amqp_bytes.PREAMBLE + amqp_bytes.ack(1)
    assert world.link.counters() == Counters()


def test_the_health_address_is_frozen_with_the_link(world: RelayedWorld) -> None:
    client, _ = world.pair()
    armed = world.link.arm(FreezeAtNthPublish(1))
    client.sendall(amqp_bytes.PREAMBLE + amqp_bytes.publish(b"task a"))
    assert armed.await_firing(PATIENCE_S) is not None

    assert is_silent(world.connect(world.link.health_address))


def test_what_passes_is_counted(world: RelayedWorld) -> None:
    client, broker = world.pair()
    client.sendall(amqp_bytes.PREAMBLE + amqp_bytes.publish(b"a") + amqp_bytes.ack(1))
    broker.sendall(amqp_bytes.ack(1))
    read(client, len(amqp_bytes.ack(1)))
    read(broker, 8)

    counted = world.link.counters()

    assert counted == Counters(connections=1, publishes=1, confirms=1, acks=1)


def test_a_closed_link_listens_no_longer_and_has_cut_its_connections(world: RelayedWorld) -> None:
    client, broker = world.pair()

    world.link.close()
    world.link.close()

    assert is_cut(client)
    assert is_cut(broker)
    assert is_refused(*world.link.address)
    assert is_refused(*world.link.health_address)
