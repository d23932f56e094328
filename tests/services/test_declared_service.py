"""A service of the user's own: fresh for each run, killed and restarted on its data, and what is wrong with it is said."""

import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from chaos.deadline import Deadline
from chaos.environment import Services
from chaos.environments.local import LocalEnvironment
from chaos.errors import ServiceUnavailable
from chaos.faults import DegradeNetwork, FlushKeys, KillService, PauseService
from chaos.services.declared.program import Readiness, ServiceProgram
from tests.leftovers import find_leftovers

pytestmark = pytest.mark.slow

SERVER = """
import http.server, signal, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def __init__(self, *arguments): super().__init__(*arguments, directory=sys.argv[2])
def end(*_):
    print("was asked to end", flush=True)
    raise SystemExit
signal.signal(signal.SIGINT, end)
print("starts", flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
HTTP = Readiness("http", path="/")
PATIENCE_S = 10.0

Open = Callable[..., LocalEnvironment]


@pytest.fixture
def declared() -> Iterator[Open]:
    """Opens an environment whose one service, `files`, is a web server on its data directory."""
    opened: list[LocalEnvironment] = []

    def open_(**stated: Any) -> LocalEnvironment:
        fields = {"argv": (sys.executable, "-c", SERVER, "{port}", "{data}"), "directory": Path("/"), "ready": HTTP}
        program = ServiceProgram("files", **{**fields, **stated})
        world = LocalEnvironment((), declared=[program])
        opened.append(world.__enter__())
        return world

    yield open_
    for world in opened:
        world.__exit__()
        assert find_leftovers(world.directory) == []


def data(services: Services) -> Path:
    return services.directory / "services" / "files" / "data"


def content(services: Services, name: str) -> str:
    address = services.own["files"]
    with suppress(OSError), urllib.request.urlopen(f"http://{address.host}:{address.port}/{name}", timeout=5) as found:
        return str(found.read().decode())
    return ""


def test_it_is_fresh_for_each_run_and_the_one_before_is_asked_to_end(declared: Open) -> None:
    world = declared(stop_signal="SIGINT")
    first = world.provision("lab_1")
    log = world.service_logs()["files"]
    (data(first) / "a").write_text("of the first run")
    again = world.provision("lab_1")

    second = world.provision("lab_2")

    assert again.own == first.own
    assert "was asked to end" in log.read_text()
    assert content(second, "a") == content(first, "a") == ""
    assert list(data(second).iterdir()) == []


def test_a_kill_ends_it_and_it_comes_back_on_the_same_port_and_data(declared: Open) -> None:
    world = declared()
    services = world.provision("lab_1")
    (data(services) / "a").write_text("kept")
    kill = world.injection(KillService("files"), services, {})

    kill.begin()
    evidence = kill.await_bite(PATIENCE_S)
    gone = content(services, "a")
    kill.end()
    kill.await_healed(PATIENCE_S)

    assert f"connections to port {services.own['files'].port} are refused" in str(evidence)
    assert (gone, content(services, "a")) == ("", "kept")
    assert world.service_logs()["files"].read_text().count("starts") == 2


def test_one_that_ended_by_itself_is_no_healthy_service(declared: Open) -> None:
    world = declared(argv=("timeout", "0.5", sys.executable, "-c", SERVER, "{port}", "{data}"))
    world.provision("lab_1")
    (child,) = world._own_services()["files"].children  # type: ignore[attr-defined]
    child.wait(PATIENCE_S)

    with pytest.raises(ServiceUnavailable, match=r"files: files ended with exit code 124\n.*\nstarts"):
        world.check_health(PATIENCE_S)


def test_a_pause_stops_it(declared: Open) -> None:
    world = declared()
    services = world.provision("lab_1")
    pause = world.injection(PauseService("files"), services, {})

    pause.begin()
    pause.await_bite(PATIENCE_S)
    with pytest.raises(ServiceUnavailable, match="timed out"):
        world._own_services()["files"].await_ready(Deadline.after(0.1))
    pause.end()
    pause.await_healed(PATIENCE_S)

    assert "<title>" in content(services, "")


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ({"ready": Readiness("http", path="/gone")}, "GET /gone was answered with status 404"),
        ({"ready": Readiness("ask", send=b"GET / HTTP/1.0\r\n\r\n", expect=b"PONG")}, "the connection was closed"),
        ({"ready": Readiness("command", command=("sh", "-c", "echo not yet; exit 3"))}, "exit code 3: not yet"),
        ({"argv": ("sh", "-c", "echo warming {port}; sleep 60")}, "no server listens at port"),
    ],
)
def test_one_that_is_not_ready_in_its_time_is_said_with_the_last_lines_of_its_log(
    declared: Open, stated: dict[str, Any], why: str
) -> None:
    world = declared(**stated, ready_within_s=1.0)

    with pytest.raises(ServiceUnavailable) as raised:
        world.provision("lab_1")

    assert str(raised.value).startswith("files: not ready after 1 s: ")
    assert why in str(raised.value)
    assert "its last log lines:\n[files] " in str(raised.value)


def test_one_that_ends_at_its_start_is_said_with_its_exit_code_and_log(declared: Open) -> None:
    world = declared(argv=("sh", "-c", "echo no licence; exit 7"))

    with pytest.raises(ServiceUnavailable, match=r"files: files ended with exit code 7\n.*\nno licence"):
        world.provision("lab_1")


@pytest.mark.parametrize(
    "ready",
    [
        HTTP,
        Readiness(),
        Readiness("command", command=("true",)),
        Readiness("ask", send=b"GET / HTTP/1.0\r\n\r\n", expect=b"</html>\n"),
    ],
    ids=lambda ready: ready.kind,
)
def test_it_is_ready_after_its_round_trip(declared: Open, ready: Readiness) -> None:
    world = declared(ready=ready, ports=("admin",))

    address = world.provision("lab_1").own["files"]

    world.check_health(PATIENCE_S)
    assert set(address.ports) == {"admin"}
    assert len({address.port, *address.ports.values()}) == 2


@pytest.mark.parametrize(
    ("ready", "kind", "why"),
    [
        (Readiness(), "reset", "its `ready` has to state `http`, or `send` and `expect`"),
        (Readiness("command", command=("true",)), "delay", "its `ready` has to state"),
        (HTTP, "slow", "the length of its answers is not known"),
    ],
)
def test_a_link_fault_that_could_not_be_proven_is_refused(ready: Readiness, kind: str, why: str) -> None:
    world = LocalEnvironment((), declared=[ServiceProgram("files", ("true", "{port}"), Path("/"), ready=ready)])

    assert why in world.can(DegradeNetwork("worker", "files", kind, 20.0))
    assert world.can(KillService("files")) == ""
    assert "is a fault of a service that the lab knows" in world.can(FlushKeys("files"))
