import socket
import subprocess
import sys
from pathlib import Path

import pytest

from chaos import ports
from chaos.ports import LOOPBACK, PortAllocator, is_free, is_refused


def test_two_leases_never_claim_the_same_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "PORTS", range(20_000, 20_200))
    one, other = PortAllocator(), PortAllocator()

    claimed = [lease.allocate() for _ in range(40) for lease in (one, other)]

    assert len(set(claimed)) == len(claimed)
    one.close()
    other.close()


def test_a_port_of_another_process_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = PortAllocator()
    port = lease.allocate()
    script = (
        "import sys; from chaos import ports; "
        "ports.PORTS = range(int(sys.argv[1]), int(sys.argv[1]) + 1); ports.TRIES_MAX = 20; ports.PortAllocator().allocate()"
    )
    claim = [sys.executable, "-c", script, str(port)]

    refused = subprocess.run(claim, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    lease.close()
    granted = subprocess.run(claim, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)

    assert "no free loopback port" in refused.stderr
    assert granted.returncode == 0, granted.stderr


def test_a_port_that_somebody_listens_on_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = PortAllocator()
    port = lease.allocate()
    lease.release(port)
    monkeypatch.setattr(ports, "PORTS", range(port, port + 1))
    monkeypatch.setattr(ports, "TRIES_MAX", 20)

    with socket.create_server((LOOPBACK, port)):
        assert not is_free(port)
        with pytest.raises(OSError, match="no free loopback port"):
            lease.allocate()

    assert lease.allocate() == port
    lease.close()


def test_ports_are_not_those_of_outgoing_connections() -> None:
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    lease = PortAllocator()

    claimed = [lease.allocate() for _ in range(50)]

    assert not [port for port in claimed if low <= port <= high]
    lease.close()


def test_refused_means_that_nobody_listens() -> None:
    lease = PortAllocator()
    port = lease.allocate()

    assert is_refused(LOOPBACK, port)
    with socket.create_server((LOOPBACK, port)):
        assert not is_refused(LOOPBACK, port)
    lease.close()
