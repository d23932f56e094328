"""Which faults each environment can do, and the sentence with which it refuses the others: before it is entered."""

from pathlib import Path
from typing import Any

import pytest

from chaos import binaries
from chaos.environments.catalogue import EnvironmentName, environment_class, environments_with
from chaos.environments.containers import ContainersEnvironment
from chaos.environments.embedded import EmbeddedEnvironment
from chaos.environments.external import ExternalEnvironment
from chaos.environments.local import LocalEnvironment
from chaos.environments.simulated import SimulatedEnvironment
from chaos.errors import ChaosError
from chaos.faults import (
    FAULTS,
    DegradeNetwork,
    EvictKeys,
    FailOverRedis,
    Fault,
    FlushKeys,
    KillChild,
    KillProcess,
    KillService,
    LoseProcess,
    PauseProcess,
    PauseService,
    RestartEmpty,
    StopProcess,
    SwallowAck,
    WithholdConfirm,
)
from chaos.injectors.injector import injector_of

FAULTS_TO_DO: tuple[Fault, ...] = (
    KillProcess("worker-1"),
    LoseProcess("worker-1"),
    StopProcess("worker-1"),
    KillChild("worker-1"),
    PauseProcess("worker-1"),
    KillService("rabbitmq"),
    PauseService("mysql"),
    FailOverRedis(),
    FlushKeys("redis"),
    EvictKeys("redis"),
    RestartEmpty("redis"),
    SwallowAck("worker-1", 1),
    WithholdConfirm("relay-1", 1),
    DegradeNetwork("worker-1", "mysql", "delay", 5.0),
    DegradeNetwork("worker-1", "redis", "delay", 5.0),
)
NO_SERVICES = "the environment 'embedded' cannot do {}: it cannot put a proxy between a process and a service"
NO_OWN = "the environment '{}' cannot do {}: it runs no services of its own (possible in: {})"


@pytest.fixture(autouse=True)
def toxiproxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "find", lambda name: Path("/bin/true"))


def external() -> ExternalEnvironment:
    return ExternalEnvironment(
        mysql_url="mysql://root@127.0.0.1", redis_url="redis://127.0.0.1", rabbitmq_url="amqp://127.0.0.1"
    )


@pytest.mark.parametrize(
    ("environment", "refused"),
    [
        (
            EmbeddedEnvironment(),
            {
                "service_killed": NO_OWN.format("embedded", "service_killed", "local, containers"),
                "service_paused": NO_OWN.format("embedded", "service_paused", "local, containers"),
                "keys_flushed": NO_OWN.format("embedded", "keys_flushed", "local, containers"),
                "keys_evicted": NO_OWN.format("embedded", "keys_evicted", "local, containers"),
                "service_restarted_empty": NO_OWN.format("embedded", "service_restarted_empty", "local"),
                "redis_failed_over": NO_OWN.format("embedded", "redis_failed_over", "local"),
                **{
                    name: NO_SERVICES.format(name) + " (possible in: local, containers, external)"
                    for name in ("ack_swallowed", "confirm_withheld", "network_degraded")
                },
            },
        ),
        (
            LocalEnvironment(),
            {
                "network_degraded to redis": "the environment 'local' cannot do network_degraded: its clients ask "
                "Sentinels for the address of Redis, which bypasses any proxy (possible in: containers, external)"
            },
        ),
        (
            ContainersEnvironment(),
            {
                "redis_failed_over": "the environment 'containers' cannot do redis_failed_over: its Redis has no replica and "
                "no Sentinels (possible in: local)",
                "service_restarted_empty": "the environment 'containers' cannot do service_restarted_empty: it does not keep the files "
                "of its services in a directory of its own (possible in: local)",
            },
        ),
        (
            external(),
            {
                "service_killed": NO_OWN.format("external", "service_killed", "local, containers"),
                "service_paused": NO_OWN.format("external", "service_paused", "local, containers"),
                "keys_flushed": NO_OWN.format("external", "keys_flushed", "local, containers"),
                "keys_evicted": NO_OWN.format("external", "keys_evicted", "local, containers"),
                "service_restarted_empty": NO_OWN.format("external", "service_restarted_empty", "local"),
                "redis_failed_over": NO_OWN.format("external", "redis_failed_over", "local"),
            },
        ),
        (SimulatedEnvironment(), {}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_an_environment_says_why_it_cannot_do_a_fault(environment: Any, refused: dict[str, str]) -> None:
    said = {}
    for fault in FAULTS_TO_DO:
        if why := environment.can(fault):
            to_redis = isinstance(fault, DegradeNetwork) and fault.service == "redis" and environment.offers
            said[fault.name + (" to redis" if to_redis else "")] = why

    assert said == refused


def test_a_fault_on_a_service_that_was_not_asked_for_is_refused() -> None:
    assert LocalEnvironment(["redis"]).can(KillService("mysql")) == (
        "the environment 'local' cannot do service_killed: it has no service 'mysql'; it has redis"
    )


def test_a_program_that_is_missing_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "find", lambda name: None)

    why = LocalEnvironment().can(DegradeNetwork("worker-1", "mysql", "delay", 5.0))

    assert why == (
        "the environment 'local' cannot do network_degraded: no toxiproxy-server on this machine; "
        "`tasklab services install` brings it"
    )


def test_a_redis_without_sentinels_is_linked_and_not_failed_over() -> None:
    plain = LocalEnvironment(["redis"], sentinels=False)

    assert plain.can(DegradeNetwork("worker-1", "redis", "reset", 5.0)) == ""
    assert plain.can(PauseService("redis")) == ""
    assert "its Redis has no replica and no Sentinels" in plain.can(FailOverRedis())
    assert "use redis_failed_over" in LocalEnvironment().can(PauseService("redis"))


def test_keys_are_struck_only_in_a_redis() -> None:
    why = LocalEnvironment().can(FlushKeys("rabbitmq"))

    assert why == "keys_flushed strikes the keys of a Redis, not rabbitmq"


def test_a_value_that_makes_no_sense_is_refused_in_every_environment() -> None:
    why = {environment.can(SwallowAck("worker-1", 0)) for environment in (LocalEnvironment(), SimulatedEnvironment())}

    assert why == {"ack_swallowed counts from 1, not from 0"}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_every_fault_can_be_done_somewhere(name: str) -> None:
    fault = next(fault for fault in FAULTS_TO_DO if fault.name == name)

    assert list(environments_with(injector_of(fault)))


@pytest.mark.parametrize("name", EnvironmentName)
def test_the_catalogue_leads_to_the_environment_of_that_name(name: EnvironmentName) -> None:
    assert environment_class(name).name == name


def test_a_url_of_an_unknown_service_is_refused() -> None:
    with pytest.raises(
        ChaosError,
        match="no service has the URL argument kafka_url; the services are mysql, redis, rabbitmq, postgresql",
    ):
        ExternalEnvironment(kafka_url="kafka://127.0.0.1")
