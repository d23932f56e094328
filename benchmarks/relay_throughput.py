"""AMQP frames per second through the relay, and its cost for the lab's process: no broker, two sockets, one link.

Run: python benchmarks/relay_throughput.py [--seconds N]
"""

import argparse
import socket
import threading
import time

from pamqp import body, commands, frame, header

from chaos.network.relay import Relay
from chaos.ports import LOOPBACK, PortAllocator

BODY_BYTES = 300
PUBLISHES = 2_000


def published(body_bytes: int) -> bytes:
    """A publish as clients send it: three frames."""
    properties = commands.Basic.Properties(delivery_mode=2)
    parts = [
        commands.Basic.Publish(routing_key="tasks", mandatory=True),
        header.ContentHeader(body_size=body_bytes, properties=properties),
        body.ContentBody(b"x" * body_bytes),
    ]
    return b"".join(frame.marshal(part, 1) for part in parts)


def measure(seconds: float, address: tuple[str, int], listener: socket.socket) -> tuple[float, float]:
    """Publishes per second, and bytes per second, from one client to a broker that only reads."""
    block = published(BODY_BYTES) * PUBLISHES
    client = socket.create_connection(address)
    broker, _ = listener.accept()
    client.sendall(header.ProtocolHeader().marshal())
    until = time.monotonic() + seconds
    sent = 0

    def send() -> None:
        nonlocal sent
        while time.monotonic() < until:
            client.sendall(block)
            sent += len(block)
        client.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    began = time.monotonic()
    sender.start()
    while broker.recv(1 << 18):
        pass
    took = time.monotonic() - began
    sender.join()
    client.close()
    broker.close()
    return sent / len(block) * PUBLISHES / took, sent / took


def main() -> None:
    """Measure without and with the relay, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    seconds = parser.parse_args().seconds
    ports = PortAllocator()
    upstream = (LOOPBACK, ports.allocate())
    listener = socket.create_server(upstream)
    relay = Relay()
    link = relay.open_link("benchmark", upstream, port=ports.allocate(), health_port=ports.allocate())
    print(f"| way | publishes/s of {BODY_BYTES} bytes | frames/s | MB/s |\n| --- | ---: | ---: | ---: |")
    for name, address in (("direct", upstream), ("relay", link.address)):
        publishes, size = measure(seconds, address, listener)
        print(f"| {name} | {publishes:,.0f} | {3 * publishes:,.0f} | {size / 1e6:,.1f} |")
    relay.close()
    listener.close()
    ports.close()


if __name__ == "__main__":
    main()
