"""What is the containers' own: images, ports, what a killed lab leaves, and what they say when something is missing or dies."""

import os
import signal

import pytest

from chaos.deadline import Deadline, wait
from chaos.environments.containers import ContainersEnvironment
from chaos.errors import ChaosError, ServiceUnavailable
from chaos.faults import FailOverRedis
from chaos.ports import is_refused
from chaos.services.docker_engine import DockerEngine
from chaos.services.redis.container import RedisContainer
from tasklab.running.environments import given_images
from tests.services.serving import Serving, lab_of_its_own

pytestmark = pytest.mark.services

PATIENCE_S = 60.0


@pytest.mark.parametrize("serving", ["containers"], indirect=True)
def test_the_containers_of_a_killed_lab_are_removed_by_the_next_and_those_of_living_labs_are_not(
    serving: Serving, docker: DockerEngine
) -> None:
    with lab_of_its_own(serving.source) as (lab, directory):
        assert docker.remove_orphans() == []
        assert len(serving.find_left(directory)) > 3

        os.killpg(lab.pid, signal.SIGKILL)
        lab.wait()
        with serving.make(["redis"]):
            assert not [name for name in docker.names() if name.startswith(directory.name)]

    serving.shared.check_health(PATIENCE_S)


def test_nobody_but_this_machine_reaches_a_service(containers: ContainersEnvironment) -> None:
    services = containers.provision("test_loopback")

    for address in (services.mysql, services.redis, services.rabbitmq, services.postgresql):
        assert address is not None
        assert not is_refused(address.host, address.port)
        assert is_refused("127.0.0.2", address.port)


def test_a_failover_is_refused_with_the_reason(containers: ContainersEnvironment) -> None:
    with pytest.raises(ChaosError, match="'containers' cannot do redis_failed_over: its Redis has no replica"):
        containers.injection(FailOverRedis(), containers.provision("test_failover"), {})


@pytest.mark.usefixtures("docker")
def test_an_image_that_cannot_be_had_is_named() -> None:
    with (
        pytest.raises(ServiceUnavailable, match=r"redis: the image localhost:1/no/redis:7 is not on this machine"),
        ContainersEnvironment(["redis"], images={"redis": "localhost:1/no/redis:7"}),
    ):
        pass


@pytest.mark.usefixtures("docker")
def test_a_service_that_dies_at_start_is_named_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RedisContainer, "command", ("redis-server", "--frobnicate", "yes"))
    environment = ContainersEnvironment(["redis"], images=given_images())

    with pytest.raises(ServiceUnavailable, match=r"(?s)redis: container .* ended with exit code 1.*frobnicate"):
        environment.__enter__()


def test_a_service_that_ends_by_itself_is_not_well(docker: DockerEngine) -> None:
    with ContainersEnvironment(["redis"], images=given_images()) as environment:
        (service,) = environment._containers
        service.container.output_of("kill 1")

        wait(lambda: "" if service.container.exit_code() is not None else "it runs", Deadline.after(PATIENCE_S))
        with pytest.raises(ServiceUnavailable, match=r"redis: container .* ended with exit code 0"):
            environment.check_health(PATIENCE_S)
