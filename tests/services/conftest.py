"""Real services for these tests: namespaces and processes in the one local environment (tests/conftest.py), and containers."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from chaos.environment import SERVICE_NAMES, ProcessSpec, ServiceName, Services
from chaos.environments.containers import ContainersEnvironment
from chaos.environments.local import LocalEnvironment
from chaos.environments.serving import ServingEnvironment
from chaos.errors import ChaosError
from chaos.hosting.processes import HostedProcess
from chaos.services.docker_engine import DockerEngine, connect
from chaos.services.registry import descriptor
from tasklab.running.environments import given_images
from tests.docker_sockets import collect_unconnected
from tests.leftovers import find_leftovers
from tests.services.serving import Serving

_numbers = itertools.count(1)

StartProcess = Callable[..., HostedProcess]
Provision = Callable[..., Services]


@pytest.fixture
def provision(local: LocalEnvironment) -> Provision:
    def provision_one(linked: Sequence[str] = ()) -> Services:
        return local.provision(f"test_{next(_numbers)}", linked=linked)

    return provision_one


@pytest.fixture
def start_process(local: LocalEnvironment, tmp_path: Path) -> Iterator[StartProcess]:
    started: list[HostedProcess] = []

    def start(*argv: str, name: str = "worker-1", role: str = "worker") -> HostedProcess:
        spec = ProcessSpec(name, role, argv or ("sleep", "1000"))
        started.append(local.start_process(spec, log_directory=tmp_path / "logs"))
        return started[-1]

    yield start
    for process in started:
        local.stop_process(process, timeout_s=0.0)


@pytest.fixture(scope="session")
def docker() -> Iterator[DockerEngine]:
    """The Docker daemon. It is optional everywhere, in CI too: without it, or an image, a test is skipped with the reason."""
    try:
        engine = connect()
    except ChaosError as error:
        why = str(error)
    else:
        why = ""
    if why:
        collect_unconnected()
        pytest.skip(why)
    images = {**{name: descriptor(name).image for name in SERVICE_NAMES}, **given_images()}
    if missing := sorted(image for image in images.values() if not engine.has_image(image)):
        engine.close()
        pytest.skip(f"missing: {', '.join(missing)}; `docker pull` brings it, or TASKLAB_MYSQL_IMAGE… name others")
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def containers(docker: DockerEngine) -> Iterator[ContainersEnvironment]:
    """Real services in containers for all tests that want them, started when the first one does."""
    with ContainersEnvironment(images=given_images()) as environment:
        directory = environment.directory
        yield environment
    assert find_leftovers(directory) == []


@pytest.fixture(params=["local", "containers"])
def serving(request: pytest.FixtureRequest) -> Serving:
    """Both kinds, one after the other."""
    shared = request.getfixturevalue(request.param)
    if request.param == "local":
        source = "from chaos.environments.local import LocalEnvironment\nlab = LocalEnvironment()"
        return Serving(shared, LocalEnvironment, source, find_leftovers)
    images = given_images()
    engine: DockerEngine = request.getfixturevalue("docker")

    def make(*services: Sequence[ServiceName], **options: float) -> ServingEnvironment:
        return ContainersEnvironment(*services, images=images, **options)

    def find_left(directory: Path) -> list[str]:
        return find_leftovers(directory) + [name for name in engine.names() if name.startswith(directory.name)]

    source = f"from chaos.environments.containers import ContainersEnvironment\nlab = ContainersEnvironment(images={images!r})"
    return Serving(shared, make, source, find_left)
