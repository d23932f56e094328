"""Containers without Docker: what is said when it is missing, whose containers are whose, and what RabbitMQ's files tell."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.environments.containers import ContainersEnvironment
from chaos.errors import ChaosError
from chaos.hosting.identity import LabIdentity
from chaos.services import docker_engine
from chaos.services.rabbitmq.container import CONFIGS, UNSAVED
from chaos.services.rabbitmq.quorum_queues import QuorumQueues, unsaved
from tasklab.command_line import app
from tests.docker_sockets import uncollected

RUN = ("run", "broker_killed", "--environment", "containers", "--seed", "1")


@pytest.fixture
def no_daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with uncollected():
        yield


def test_docker_is_not_imported_before_it_is_needed() -> None:
    source = (
        "import sys, chaos.environments.containers as world; world.ContainersEnvironment()\n"
        "sys.exit(sorted({'docker', 'testcontainers'} & set(sys.modules)) or 0)"
    )

    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 0


@pytest.mark.usefixtures("no_daemon")
def test_without_a_daemon_a_run_is_unknown_and_says_what_to_do(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [*RUN, "--out", str(tmp_path / "runs")])

    assert result.exit_code == 3
    assert "containers need a Docker daemon, but none answers" in result.stderr
    assert "systemctl start docker" in result.stderr
    assert "Traceback" not in result.stderr


def test_without_the_package_a_run_is_unknown_and_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "testcontainers.core.docker_client", None)

    result = CliRunner().invoke(app, [*RUN, "--out", str(tmp_path / "runs")])

    assert result.exit_code == 3
    assert "pip install 'tasklab[containers]'" in result.stderr


@pytest.mark.usefixtures("no_daemon")
def test_without_a_daemon_nothing_is_left() -> None:
    environment = ContainersEnvironment()

    with pytest.raises(ChaosError, match="none answers"), environment:
        pass

    assert not environment.directory.exists()
    environment.__exit__()


class Elsewhere(BaseHTTPRequestHandler):
    """As much of a Docker daemon as a client asks for when it connects."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"ApiVersion": "1.44"}')

    do_HEAD = do_GET  # noqa: N815 (the name that the server looks for)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def daemon_elsewhere() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.2", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"tcp://127.0.0.2:{server.server_port}"
        server.shutdown()


def test_a_daemon_of_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch, daemon_elsewhere: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", daemon_elsewhere)

    with pytest.raises(ChaosError, match=r"DOCKER_HOST points to 127\.0\.0\.2"):
        docker_engine.connect()


@pytest.mark.parametrize(
    ("image", "repository", "tag"),
    [
        ("redis", "redis", "latest"),
        ("redis:7", "redis", "7"),
        ("localhost:5000/own/redis", "localhost:5000/own/redis", "latest"),
        ("localhost:5000/own/redis:7", "localhost:5000/own/redis", "7"),
        ("redis@sha256:0a1b", "redis@sha256:0a1b", None),
    ],
)
def test_an_image_is_pulled_by_one_tag(image: str, repository: str, tag: str | None) -> None:
    assert docker_engine._split(image) == (repository, tag)


def test_a_lab_is_alive_as_long_as_its_process_is() -> None:
    source = "import sys; from chaos.hosting.identity import LabIdentity; print(LabIdentity.own(), flush=True); sys.stdin.read()"
    lab = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    assert lab.stdin is not None
    identity = LabIdentity.parse(lab.stdout.readline())

    assert identity is not None
    assert not identity.is_dead()
    lab.stdin.close()
    os.waitid(os.P_PID, lab.pid, os.WEXITED | os.WNOWAIT)
    assert identity.is_dead()  # a zombie removes nothing any more
    lab.wait()
    assert identity.is_dead()
    lab.stdout.close()


def test_a_lab_of_another_boot_is_dead_and_one_whose_processes_are_not_seen_may_live() -> None:
    own = LabIdentity.own()

    assert LabIdentity.parse(str(own)) == own
    assert not own.is_dead()
    assert replace(own, started="1").is_dead()  # another process had this number
    assert replace(own, boot="another").is_dead()
    assert not replace(own, namespace="pid:[1]", started="1").is_dead()


@pytest.mark.parametrize("text", ["", "1 2 3", "a b c d e"])
def test_a_label_that_no_lab_has_written_names_no_lab(text: str) -> None:
    assert LabIdentity.parse(text) is None


def ask(script: str, base: Path) -> str:
    environment = {**os.environ, "RABBITMQ_MNESIA_BASE": str(base)}
    return subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=False).stdout


def member(base: Path, name: str, queue: str, *, written_ns: int) -> Path:
    config = base / "rabbit@host" / "quorum" / "rabbit@host" / name / "config"
    config.parent.mkdir(parents=True)
    config.write_text(f'#{{queue_resource =>\n  {{resource,<<"/">>,queue,<<"{queue}">>}}}}')
    os.utime(config, ns=(written_ns, written_ns))
    return config


def test_a_queue_is_unsaved_until_the_registry_is_newer(tmp_path: Path) -> None:
    assert ask(UNSAVED, tmp_path / "nowhere") == ""
    assert ask(UNSAVED, tmp_path) == ""
    config = member(tmp_path, "first", "orders", written_ns=1_000_500_000_000)
    registry = config.parents[1] / "names.dets"

    assert ask(UNSAVED, tmp_path).strip().endswith("first/config")
    registry.touch()
    for written_ns in (1_000_400_000_000, 1_000_600_000_000):  # the second: the mark that the declaration itself leaves
        os.utime(registry, ns=(written_ns,) * 2)
        assert "first/config" in ask(UNSAVED, tmp_path)
    os.utime(registry, ns=(1_001_500_000_000,) * 2)
    assert ask(UNSAVED, tmp_path) == ""


@pytest.mark.parametrize(
    ("registries_s", "configs_s", "words"),
    [
        ([], [], ""),
        ([], [10.0], "a queue"),
        ([9.0], [10.0], "a queue"),
        ([10.001], [10.0], "a queue"),  # the mark that the declaration itself leaves
        ([11.0], [10.0], ""),
        ([11.0], [10.0, 10.9], "a queue"),
    ],
)
def test_a_registry_that_is_only_marked_as_open_has_not_been_saved(
    registries_s: list[float], configs_s: list[float], words: str
) -> None:
    assert unsaved(registries_s, configs_s) == words


def test_a_queue_started_anew_is_forgotten(tmp_path: Path) -> None:
    queues = QuorumQueues(lambda: "", lambda: ask(CONFIGS, tmp_path).split("\0"))
    member(tmp_path, "first", "orders", written_ns=1)
    member(tmp_path, "other", "letters", written_ns=1)
    queues.await_saved()
    assert queues.confirmed_data_lost_by_kill() == ""

    member(tmp_path, "second", "orders", written_ns=1)

    assert queues.confirmed_data_lost_by_kill().startswith("it forgot orders and the messages in it")
