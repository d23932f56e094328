"""Faults of the network are seen on a connection that was open and on a new one; where nothing is seen, they did not bite."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace

import pymysql
import pytest

from chaos import binaries
from chaos.environment import Services
from chaos.environments.external import ExternalEnvironment
from chaos.environments.local import LocalEnvironment
from chaos.errors import ChaosError, FaultDidNotBite, FaultDidNotHeal
from chaos.faults import DegradeNetwork
from chaos.hosting.processes import HostedProcess
from chaos.injectors import degrade_network
from chaos.network.links import Links
from chaos.network.proxies import NetworkProxy
from chaos.services.postgresql.client import connected
from chaos.services.redis import server as redis
from chaos.services.registry import open_exchange
from tests.network_table import QUESTION_BYTES, TABLE, Row

pytestmark = pytest.mark.services

PATIENCE_S = 60.0
KINDS = [("delay", 60.0), ("blackhole", 0.0), ("reset", 0.0), ("reset", 100.0), ("slow", 40.0), ("refuse", 0.0)]
Provision = Callable[..., Services]
StartProcess = Callable[..., HostedProcess]


@pytest.fixture
def outside(local: LocalEnvironment) -> Iterator[ExternalEnvironment]:
    """The local services once more, as an external environment: so Redis has no Sentinels, and can be linked."""
    services = local.provision("test_outside")
    assert services.mysql is not None
    assert services.redis is not None
    assert services.rabbitmq is not None
    assert services.postgresql is not None
    with ExternalEnvironment(
        mysql_url=services.mysql.url,
        redis_url=services.redis.url,
        rabbitmq_url=services.rabbitmq.url,
        postgresql_url=services.postgresql.url,
    ) as environment:
        yield environment


HOLD = "import socket, sys, time; held = socket.create_connection((sys.argv[1], int(sys.argv[2]))); time.sleep(1000)"


def start_user(start_process: StartProcess, services: Services, service: str, name: str = "worker-1") -> HostedProcess:
    """A process that holds a connection to the service through its own link."""
    address = getattr(services.as_seen_by(name), service)
    return start_process(sys.executable, "-c", HOLD, address.host, str(address.port), name=name)


@pytest.mark.parametrize("service", ["mysql", "redis", "rabbitmq", "postgresql"])
@pytest.mark.parametrize(("kind", "value"), KINDS)
def test_a_degraded_network_is_seen_and_is_clean_again(
    outside: ExternalEnvironment, start_process: StartProcess, service: str, kind: str, value: float
) -> None:
    services = outside.provision("test_degraded", linked=["worker-1"])
    fault = DegradeNetwork("worker-1", service, kind, value)
    injection = outside.injection(fault, services, {"worker-1": start_user(start_process, services, service)})

    injection.begin()
    evidence = injection.await_bite(PATIENCE_S).words
    injection.end()
    injection.end()
    injection.await_healed(PATIENCE_S)

    assert injection.target == f"worker-1-to-{service}"
    assert evidence.startswith(f"{kind} seen on an open connection")
    with closing(open_exchange(getattr(services.as_seen_by("worker-1"), service), PATIENCE_S)) as exchange:
        exchange.ask(100_000)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_a_network_fault_costs_what_the_table_says(
    outside: ExternalEnvironment, start_process: StartProcess, row: Row
) -> None:
    services = outside.provision("test_table", linked=["worker-1"])
    processes = {"worker-1": start_user(start_process, services, "redis")}
    injection = outside.injection(DegradeNetwork("worker-1", "redis", row.kind, row.value), services, processes)
    with closing(open_exchange(services.as_seen_by("worker-1").redis, PATIENCE_S)) as exchange:  # type: ignore[arg-type]
        exchange.ask(QUESTION_BYTES)
        injection.begin()

        began_s = time.monotonic()
        with pytest.raises(ConnectionError) if row.breaks else nullcontext():
            exchange.ask(QUESTION_BYTES)
        took_s = time.monotonic() - began_s

    injection.end()
    assert 0.9 * row.takes_s <= took_s <= row.takes_s + 0.5


def test_of_two_faults_on_one_link_the_second_stays_when_the_first_is_lifted(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess
) -> None:
    services = provision(["worker-1"])
    processes = {"worker-1": start_user(start_process, services, "mysql")}
    first, second = (
        local.injection(DegradeNetwork("worker-1", "mysql", "delay", 100.0), services, processes) for _ in range(2)
    )
    for injection in (first, second):
        injection.begin()
        injection.await_bite(PATIENCE_S)

    with closing(open_exchange(services.as_seen_by("worker-1").mysql, PATIENCE_S)) as exchange:  # type: ignore[arg-type]
        both_s = exchange.ask()
        first.end()
        one_s = exchange.ask()
        second.end()
        second.await_healed(PATIENCE_S)

    assert 0.36 <= both_s <= 0.9
    assert 0.18 <= one_s <= 0.34


@pytest.mark.parametrize(("kind", "value"), KINDS)
def test_a_network_that_was_not_degraded_is_no_bite(
    local: LocalEnvironment,
    provision: Provision,
    start_process: StartProcess,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    value: float,
) -> None:
    services = provision(["worker-1"])
    fault = DegradeNetwork("worker-1", "mysql", kind, value)
    injection = local.injection(fault, services, {"worker-1": start_user(start_process, services, "mysql")})
    monkeypatch.setattr(NetworkProxy, "degrade", lambda proxy, toxics: None)
    monkeypatch.setattr(NetworkProxy, "refuse", lambda proxy: None)
    injection.begin()

    with pytest.raises(FaultDidNotBite, match="on an open connection: answered after"):
        injection.await_bite(PATIENCE_S)

    injection.end()


@pytest.mark.parametrize(("kind", "value"), KINDS)
def test_a_network_that_was_not_restored_is_not_healed(
    local: LocalEnvironment,
    provision: Provision,
    start_process: StartProcess,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    value: float,
) -> None:
    services = provision(["worker-1"])
    fault = DegradeNetwork("worker-1", "rabbitmq", kind, value)
    injection = local.injection(fault, services, {"worker-1": start_user(start_process, services, "rabbitmq")})
    injection.begin()
    injection.await_bite(PATIENCE_S)

    with monkeypatch.context() as patch:
        patch.setattr(NetworkProxy, "restore", lambda proxy, number: None)
        injection.end()
        with pytest.raises(FaultDidNotHeal, match="round trip"):
            injection.await_healed(0.1)


def test_a_way_that_is_broken_already_cannot_be_degraded(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess
) -> None:
    services = provision(["worker-1"])
    processes = {"worker-1": start_user(start_process, services, "mysql")}
    first = local.injection(DegradeNetwork("worker-1", "mysql", "refuse"), services, processes)
    first.begin()
    first.await_bite(PATIENCE_S)
    second = local.injection(DegradeNetwork("worker-1", "mysql", "delay", 50), services, processes)

    with pytest.raises(FaultDidNotBite, match="the link did not work before the fault"):
        second.begin()

    second.end()
    first.end()
    first.await_healed(PATIENCE_S)


def test_a_process_that_goes_another_way_is_not_struck(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(degrade_network, "USE_TIMEOUT_S", 0.3)
    services = provision(["worker-1"])
    around = start_user(start_process, replace(services, links={}), "mysql")
    injection = local.injection(DegradeNetwork("worker-1", "mysql", "refuse"), services, {"worker-1": around})

    with pytest.raises(FaultDidNotBite, match="has no connection through this link: does it use the addresses"):
        injection.begin()

    injection.end()


def test_other_processes_do_not_see_it(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess
) -> None:
    services = provision(["worker-1", "worker-2"])
    processes = {name: start_user(start_process, services, "mysql", name) for name in ("worker-1", "worker-2")}
    injection = local.injection(DegradeNetwork("worker-1", "mysql", "refuse"), services, processes)
    injection.begin()
    injection.await_bite(PATIENCE_S)

    for seen in (services, services.as_seen_by("worker-2")):
        assert seen.mysql is not None
        with closing(open_exchange(seen.mysql, PATIENCE_S)) as exchange:
            exchange.ask()

    injection.end()


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (
            DegradeNetwork("worker-1", "mysql", "wobble"),
            "no network fault is called 'wobble'; the kinds are delay, blackhole",
        ),
        (DegradeNetwork("worker-1", "mysql", "delay", 0), "needs a value of 1 or more"),
        (DegradeNetwork("worker-1", "mysql", "slow", -5), "needs a value of 1 or more"),
        (DegradeNetwork("worker-1", "redis", "delay", 50), "its clients ask Sentinels"),
        (
            DegradeNetwork("worker-1", "kafka", "delay", 50),
            "it has no service 'kafka'; it has mysql, postgresql, rabbitmq, redis",
        ),
    ],
)
def test_a_fault_that_cannot_be_done_or_seen_is_refused(
    local: LocalEnvironment, provision: Provision, start_process: StartProcess, fault: DegradeNetwork, why: str
) -> None:
    services = provision(["worker-1"])

    with pytest.raises(ChaosError, match=why):
        local.injection(fault, services, {"worker-1": start_process()})


def test_without_toxiproxy_links_work_and_network_faults_say_what_is_missing(
    outside: ExternalEnvironment, start_process: StartProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = binaries.find
    monkeypatch.setattr(binaries, "find", lambda name: None if name == "toxiproxy-server" else find(name))
    services = outside.provision("test_no_toxiproxy", linked=["worker-1"])

    assert services.as_seen_by("worker-1").mysql == services.mysql
    with closing(open_exchange(services.as_seen_by("worker-1").rabbitmq, PATIENCE_S)) as exchange:  # type: ignore[arg-type]
        exchange.ask()
    with pytest.raises(ChaosError, match="no toxiproxy-server on this machine; `tasklab services install` brings it"):
        outside.injection(DegradeNetwork("worker-1", "mysql", "delay", 50), services, {"worker-1": start_process()})


def test_a_redis_that_sentinels_watch_is_reached_as_it_is(provision: Provision) -> None:
    services = provision(["worker-1"])

    assert services.as_seen_by("worker-1").redis == services.redis


def test_what_a_run_outside_has_made_is_removed_with_its_environment(local: LocalEnvironment) -> None:
    inside = local.provision("test_host")
    assert inside.mysql is not None
    assert inside.redis is not None
    assert inside.postgresql is not None
    with closing(redis.client(inside.redis.host, inside.redis.port)) as client:
        client.set("test_guest:left_over", "from a run that was killed")

        with ExternalEnvironment(
            mysql_url=inside.mysql.url, redis_url=inside.redis.url, postgresql_url=inside.postgresql.url
        ) as outside:
            outside.provision("test_guest")
            assert client.get("test_guest:left_over") is None
            client.set("test_guest:key", "of this run")
            client.set("other:key", "of another program")
            assert "test_guest" in databases(inside)
            assert "test_guest" in postgresql_databases(inside)

        assert client.get("test_guest:key") is None
        assert client.get("other:key") == "of another program"
    assert "test_guest" not in databases(inside)
    assert "test_guest" not in postgresql_databases(inside)


def test_links_that_are_closed_twice_are_closed(local: LocalEnvironment, provision: Provision) -> None:
    provision(["worker-1"])
    links: Links = local._links

    links.clear()
    links.clear()

    assert provision(["worker-1"]).links


def databases(services: Services) -> set[str]:
    assert services.mysql is not None
    address = services.mysql
    connection = pymysql.connect(host=address.host, port=address.port, user=address.user, password=address.password)
    with closing(connection), connection.cursor() as cursor:
        cursor.execute("SHOW DATABASES")
        return {str(name) for (name,) in cursor.fetchall()}


def postgresql_databases(services: Services) -> set[str]:
    assert services.postgresql is not None
    with connected(services.postgresql, PATIENCE_S) as connection:
        return {str(name) for (name,) in connection.run("SELECT datname FROM pg_database")}
