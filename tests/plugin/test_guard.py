"""No socket of an app's process reaches anything but the lab's services and the process itself."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from scenarios.adapters.adapted import REFUSED, SHIMS

ALLOWS = "import socket, _socket, tasklab_guard; address = ('127.0.0.1', {port}); "


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def guarded(code: str, listener: socket.socket) -> subprocess.CompletedProcess[str]:
    """A process with the guard that does this; `address` is that of the listener."""
    prelude = ALLOWS.format(port=listener.getsockname()[1])
    command = [sys.executable, "-c", prelude + code]
    return subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(SHIMS)}, check=False)


def is_reached(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@pytest.mark.parametrize(
    "code",
    [
        "socket.create_connection(address)",
        "socket.socket().connect_ex(address)",
        "socket.socket().connect(('localhost', address[1]))",
        "_socket.socket().connect(address)",
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', address)",
        "import threading; one = threading.Thread(target=socket.create_connection, args=[address]); one.start(); one.join()",
    ],
)
def test_an_address_that_is_not_the_lab_s_is_refused_and_told(code: str, listener: socket.socket) -> None:
    done = guarded(code, listener)

    assert f"ConnectionRefusedError: {REFUSED}" in done.stderr
    assert any(line.startswith(REFUSED) for line in done.stderr.splitlines())
    assert not is_reached(listener)


@pytest.mark.parametrize(
    "code",
    [
        "tasklab_guard.allow(dict(redis=dict(host='127.0.0.1', port=address[1]))); socket.create_connection(address)",
        "tasklab_guard.allow(dict(redis=dict(host='localhost', port=address[1]))); socket.create_connection(address)",
    ],
)
def test_the_lab_s_services_are_reached(code: str, listener: socket.socket) -> None:
    done = guarded(code, listener)

    assert (done.returncode, done.stderr) == (0, "")
    assert is_reached(listener)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_process_reaches_its_own_sockets(host: str, listener: socket.socket) -> None:
    own = f"own = socket.create_server(({host!r}, 0)); socket.create_connection(('127.0.0.1', own.getsockname()[1]))"

    done = guarded(own, listener)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_name_that_begins_like_a_loopback_address_is_none(listener: socket.socket) -> None:
    allow = "tasklab_guard.allow(dict(redis=dict(host='127.0.0.1', port=address[1]))); tasklab_guard.check({!r}, address[1])"

    assert REFUSED in guarded(allow.format("127.0.0.1.example.org"), listener).stderr
    assert guarded(allow.format("127.0.0.2"), listener).stderr == ""
