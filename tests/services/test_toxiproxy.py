"""The wrapper of toxiproxy-python against a real server: what is asked for is there, once, and nothing waits for ever."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import requests

from chaos.deadline import Deadline
from chaos.errors import ServiceUnavailable
from chaos.hosting.warden_client import WardenClient
from chaos.ports import LOOPBACK, PortAllocator, is_refused
from chaos.services.toxiproxy import client as toxiproxy
from chaos.services.toxiproxy.client import Toxic, Toxiproxy
from chaos.services.toxiproxy.server import ToxiproxyServer
from tests.leftovers import find_leftovers

pytestmark = pytest.mark.services

LATENCY = Toxic("latency", "downstream", {"latency": 5})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToxiproxyServer]:
    directory = tmp_path_factory.mktemp("toxiproxy") / "lab"
    directory.mkdir()
    ports = PortAllocator()
    warden = WardenClient(directory)
    server = ToxiproxyServer(warden, directory, ports)
    server.start(Deadline.after(30.0))
    yield server
    warden.close()
    ports.close()
    assert find_leftovers(directory) == []


@pytest.fixture
def ports() -> Iterator[PortAllocator]:
    lease = PortAllocator()
    yield lease
    lease.close()


@pytest.fixture
def upstream() -> Iterator[tuple[str, int]]:
    with socket.create_server((LOOPBACK, 0)) as listener:
        yield listener.getsockname()


def is_enabled(server: ToxiproxyServer, proxy: str) -> bool:
    answer = requests.get(
        f"http://{LOOPBACK}:{server.ports[0]}/proxies/{proxy}", timeout=5.0, proxies={"no_proxy": LOOPBACK}
    )
    return bool(answer.json()["enabled"])


def test_a_proxy_listens_as_soon_as_it_is_made_and_no_longer_when_it_is_deleted(
    server: ToxiproxyServer, ports: PortAllocator, upstream: tuple[str, int]
) -> None:
    listen = (LOOPBACK, ports.allocate())

    server.api.create("proxy", listen=listen, upstream=upstream)
    assert not is_refused(*listen)

    server.api.delete("proxy")
    server.api.delete("proxy")
    assert is_refused(*listen)


def test_a_proxy_made_again_is_the_new_one_without_toxics(
    server: ToxiproxyServer, ports: PortAllocator, upstream: tuple[str, int]
) -> None:
    old, new = (LOOPBACK, ports.allocate()), (LOOPBACK, ports.allocate())
    server.api.create("proxy", listen=old, upstream=upstream)
    server.api.add("proxy", [LATENCY])

    server.api.create("proxy", listen=new, upstream=upstream)

    assert (is_refused(*old), is_refused(*new)) == (True, False)
    assert server.api.toxics("proxy") == ()


def test_a_toxic_put_twice_is_one_and_taken_twice_is_none(
    server: ToxiproxyServer, ports: PortAllocator, upstream: tuple[str, int]
) -> None:
    server.api.create("proxy", listen=(LOOPBACK, ports.allocate()), upstream=upstream)

    server.api.add("proxy", [LATENCY])
    server.api.add("proxy", [LATENCY])
    assert server.api.toxics("proxy") == ("latency_downstream",)

    server.api.remove("proxy", [LATENCY.name])
    server.api.remove("proxy", [LATENCY.name])
    assert server.api.toxics("proxy") == ()


def test_a_disabled_proxy_stays_disabled_until_it_is_enabled(
    server: ToxiproxyServer, ports: PortAllocator, upstream: tuple[str, int]
) -> None:
    listen = (LOOPBACK, ports.allocate())
    server.api.create("proxy", listen=listen, upstream=upstream)

    server.api.disable("proxy")
    server.api.add("proxy", [LATENCY])
    server.api.remove("proxy", [LATENCY.name])
    assert (is_enabled(server, "proxy"), is_refused(*listen)) == (False, True)

    server.api.enable("proxy")
    assert (is_enabled(server, "proxy"), is_refused(*listen)) == (True, False)


def test_a_name_may_hold_what_a_url_may_not(
    server: ToxiproxyServer, ports: PortAllocator, upstream: tuple[str, int]
) -> None:
    name = "worker 1?#-to-mysql"
    server.api.create(name, listen=(LOOPBACK, ports.allocate()), upstream=upstream)

    server.api.add(name, [LATENCY])

    assert server.api.toxics(name) == ("latency_downstream",)
    server.api.delete(name)


def test_what_the_server_refuses_is_an_error_that_says_why(
    server: ToxiproxyServer, ports: PortAllocator, upstream: tuple[str, int]
) -> None:
    server.api.create("proxy", listen=(LOOPBACK, ports.allocate()), upstream=upstream)

    with pytest.raises(ServiceUnavailable, match="invalid toxic type"):
        server.api.add("proxy", [Toxic("wobble", "downstream", {})])
    with pytest.raises(ServiceUnavailable, match="proxy not found"):
        server.api.toxics("nobody")


def test_two_servers_in_one_process_do_not_mix(
    server: ToxiproxyServer, ports: PortAllocator, upstream: tuple[str, int]
) -> None:
    elsewhere = Toxiproxy(LOOPBACK, ports.allocate())
    server.api.create("proxy", listen=(LOOPBACK, ports.allocate()), upstream=upstream)

    with pytest.raises(ServiceUnavailable, match="no answer"):
        elsewhere.version()

    assert is_enabled(server, "proxy")


def test_an_http_proxy_of_the_environment_does_not_come_between(
    server: ToxiproxyServer, monkeypatch: pytest.MonkeyPatch, ports: PortAllocator
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://{LOOPBACK}:{ports.allocate()}")

    assert server.api.version()


def test_a_server_that_does_not_answer_is_an_error_and_not_a_wait_for_ever(
    monkeypatch: pytest.MonkeyPatch, upstream: tuple[str, int]
) -> None:
    monkeypatch.setattr(toxiproxy, "REQUEST_TIMEOUT_S", 0.2)

    with pytest.raises(ServiceUnavailable, match="no answer to /version"):
        Toxiproxy(*upstream).version()


def test_an_error_of_the_server_is_no_success() -> None:
    class Failing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(500, "out of order")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer((LOOPBACK, 0), Failing) as failing:
        thread = threading.Thread(target=failing.handle_request)
        thread.start()

        with pytest.raises(ServiceUnavailable, match="it answered 500"):
            Toxiproxy(LOOPBACK, failing.server_port).version()
        thread.join()


def test_it_is_red_when_it_is_down(server: ToxiproxyServer, tmp_path: Path) -> None:
    assert server.missing() == ""

    server.kill()

    assert "no server listens" in server.missing()
    server.respawn()
    server.await_ready(Deadline.after(30.0))
