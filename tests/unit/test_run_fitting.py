"""A scenario whose fault has no target is not applicable, never green; else the lab knows between whom it has to stand."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from chaos.environment import SERVICE_NAMES, ProcessSpec, ServiceName, Services
from chaos.faults import (
    DegradeNetwork,
    EvictKeys,
    FailOverRedis,
    Fault,
    FlushKeys,
    KillProcess,
    KillService,
    LoseProcess,
    SwallowAck,
    WithholdConfirm,
)
from chaos.services.declared.program import PARTS
from scenarios.contract.capabilities import NO_TAKEOVER, OWN_BODY
from scenarios.contract.system import Handlers
from scenarios.errors import NotApplicable, RunFailed
from scenarios.experiment.fitting import (
    aimed,
    check_capabilities,
    kills_workers,
    parts_of,
    process_playing,
    processes_of,
    processes_to_link,
)
from scenarios.experiment.scenario import (
    AtStart,
    AttemptBegun,
    KillsWorker,
    LeaderAtWork,
    Scenario,
    Strike,
    TaskTakenOver,
    Trigger,
    Workload,
)
from scenarios.judging.guarantees import Guarantee

NOWHERE = Services("lab", Path(), 1)
ALL = frozenset(SERVICE_NAMES)


@dataclass
class World:
    name: str = "local"
    offers: frozenset[ServiceName] = ALL
    flaw: str = ""

    def can(self, fault: Fault) -> str:
        return self.flaw


@dataclass
class Acme:
    """An API that publishes what it is given, and two workers."""

    name: str = "acme"
    claims: frozenset[Guarantee] = frozenset()
    needs: frozenset[ServiceName] = frozenset({"mysql", "rabbitmq"})
    more: tuple[ProcessSpec, ...] = ()
    embedded: list[str] = field(default_factory=lambda: ["all-in-one"])

    def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        api = ProcessSpec("api", "api", ["acme"], also=("relay",))
        return [api, *(ProcessSpec(name, "worker", ["acme"]) for name in ("worker-1", "worker-2")), *self.more]

    def embedded_processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
        return [ProcessSpec(name, "embedded", ["acme"]) for name in self.embedded]

    def client(self, services: Services) -> None:
        raise NotImplementedError


def scenario(*faults: Fault, when: Trigger | None = None) -> Scenario:
    strikes = tuple(Strike(fault, when or AtStart()) for fault in faults)
    return Scenario("struck", "It is struck.", Workload(tasks=1, rate_per_s=1), strikes, ())


def link(struck: Scenario, *, system: Acme | None = None, world: World | None = None) -> tuple[str, ...]:
    return processes_to_link(struck, system or Acme(), world or World(), NOWHERE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("needs", "struck"),
    [
        ({"mysql", "redis", "rabbitmq"}, ("rabbitmq", "mysql", "result backend", "redis")),
        ({"redis", "rabbitmq"}, ("rabbitmq", "database", "redis", "cache")),
        ({"redis"}, ("redis", "database", "result backend", "cache")),
        ({"redis", "postgresql"}, ("redis", "postgresql", "result backend", "cache")),
        ({"postgresql"}, ("postgresql", "postgresql", "result backend", "cache")),
        (set(), PARTS),
    ],
)
def test_what_strikes_a_part_strikes_the_service_that_plays_it(
    needs: set[ServiceName], struck: tuple[str, ...]
) -> None:
    stated = scenario(
        KillService("broker"),
        DegradeNetwork("worker", "database", "delay", 5.0),
        FlushKeys("result backend"),
        EvictKeys("cache"),
    )

    found = aimed(stated, parts_of(frozenset(needs)))

    assert tuple(strike.fault.struck_service for strike in found.strikes) == struck


def test_every_part_is_played_in_some_system() -> None:
    assert {*parts_of(ALL), *parts_of(frozenset({"rabbitmq", "redis"}))} == set(PARTS)


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("worker", "worker-1"),
        ("worker:1", "worker-1"),
        ("worker:2", "worker-2"),
        ("worker:3", None),
        ("worker:0", None),
    ],
)
def test_a_process_is_named_by_its_role_and_its_place_among_those_of_that_role(named: str, found: str | None) -> None:
    roles = {"api": ("api", "relay"), "worker-1": ("worker",), "worker-2": ("worker",)}

    assert process_playing(named, roles) == found


def test_a_fault_on_a_part_that_no_service_plays_has_no_target() -> None:
    struck = aimed(scenario(KillService("database")), parts_of(frozenset({"rabbitmq"})))

    with pytest.raises(NotApplicable, match="acme does not use a database"):
        link(struck, system=Acme(needs=frozenset({"rabbitmq"})))


def test_only_processes_whose_traffic_is_struck_get_links_and_each_gets_them_once() -> None:
    struck = scenario(
        SwallowAck("worker", 3),
        WithholdConfirm("relay", 1),
        DegradeNetwork("worker-1", "mysql", "blackhole"),
        KillProcess("worker-2"),
        KillService("mysql"),
    )

    assert link(struck) == ("worker-1", "api")


def test_where_rabbitmq_itself_is_struck_the_deliveries_of_those_that_run_handlers_are_followed() -> None:
    assert link(scenario(KillService("rabbitmq"))) == ("worker-1", "worker-2")
    assert link(scenario(KillService("mysql"))) == ()


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (KillProcess("rescuer"), "process_killed has no target: acme has no process in the role 'rescuer'"),
        (SwallowAck("consumer", 1), "ack_swallowed has no target: acme has no process in the role 'consumer'"),
        (KillService("redis"), "service_killed has no target: acme does not use redis"),
        (FailOverRedis(), "redis_failed_over has no target: acme does not use redis"),
    ],
)
def test_a_fault_that_has_nothing_to_strike_in_the_system_is_not_applicable(fault: Fault, why: str) -> None:
    with pytest.raises(NotApplicable) as raised:
        link(scenario(fault))

    assert str(raised.value) == why


def test_a_process_may_be_lost_only_where_another_plays_its_role() -> None:
    assert link(scenario(LoseProcess(), when=AttemptBegun(1))) == ()
    assert link(scenario(LoseProcess("worker"))) == ()
    with pytest.raises(
        NotApplicable, match="process_lost leaves no process to take over: acme has one process in the role 'api'"
    ):
        link(scenario(LoseProcess("api")))


def test_a_scenario_that_needs_what_the_system_cannot_do_is_not_applicable() -> None:
    pausing = replace(scenario(KillProcess("worker")), needs=("pause", "submit"))

    with pytest.raises(NotApplicable, match="the system does not state the capabilities that struck needs: pause"):
        link(pausing)
    assert link(pausing, system=Acme(claims=frozenset({Guarantee.PAUSE_HONOURED}))) == ()


def test_a_takeover_is_awaited_only_where_a_lease_ends() -> None:
    paused = replace(scenario(), premises=(TaskTakenOver(),))

    check_capabilities(paused, frozenset({"submit"}))
    with pytest.raises(NotApplicable, match="struck awaits a takeover, and no worker takes over"):
        check_capabilities(paused, frozenset({"submit", NO_TAKEOVER}))


@pytest.mark.parametrize(
    ("struck", "kills"),
    [
        (scenario(KillService("rabbitmq")), False),
        (scenario(SwallowAck("worker", nth=1)), False),
        (scenario(KillProcess()), True),
        (replace(scenario(), workload=Workload(tasks=1, rate_per_s=1, traits=(KillsWorker(),))), True),
    ],
)
def test_what_is_documented_of_killed_workers_is_shown_where_workers_are_killed(struck: Scenario, kills: bool) -> None:
    assert kills_workers(struck) == kills


def test_a_scenario_that_is_about_the_lab_s_handler_does_not_fit_tasks_that_run_their_own_code() -> None:
    poison = replace(scenario(), workload=Workload(tasks=1, rate_per_s=1, traits=(KillsWorker(),)))

    check_capabilities(poison, frozenset({"submit"}))
    with pytest.raises(NotApplicable, match=r"only the lab's handler does \(KillsWorker\)"):
        check_capabilities(poison, frozenset({"submit", OWN_BODY}))


def test_a_fault_of_a_service_that_the_environment_lacks_is_not_applicable() -> None:
    embedded = World("embedded", frozenset())

    with pytest.raises(NotApplicable, match="service_killed needs mysql, which the environment 'embedded' lacks"):
        link(scenario(KillService("mysql")), world=embedded)


def test_a_fault_that_the_environment_cannot_do_is_not_applicable_and_says_why() -> None:
    with pytest.raises(NotApplicable, match="it runs no services of its own"):
        link(scenario(KillService("mysql")), world=World("external", flaw="it runs no services of its own"))


def test_a_moment_of_the_leader_needs_one() -> None:
    struck = scenario(KillProcess(), when=LeaderAtWork(1))

    with pytest.raises(NotApplicable, match="acme has no leader"):
        link(struck)
    assert link(struck, system=Acme(more=(ProcessSpec("sweeper", "rescuer", ["acme"]),))) == ()


def test_a_system_that_needs_what_the_environment_does_not_offer_is_not_applicable() -> None:
    world = World("external", frozenset({"mysql"}))

    with pytest.raises(NotApplicable, match="acme needs rabbitmq, which the environment 'external' does not offer"):
        processes_of(Acme(), world, NOWHERE, Handlers({}))  # type: ignore[arg-type]


def test_embedded_is_another_set_of_processes_and_needs_no_service() -> None:
    specs = processes_of(Acme(), World("embedded", frozenset()), NOWHERE, Handlers({}))  # type: ignore[arg-type]

    assert [spec.name for spec in specs] == ["all-in-one"]


def test_a_plug_in_that_raises_makes_the_run_unknown_and_is_named() -> None:
    class Broken(Acme):
        def processes(self, services: Services, handlers: Handlers) -> Sequence[ProcessSpec]:
            raise KeyError("port")

    with pytest.raises(RunFailed, match=r"the plug-in of acme failed in processes\(\): KeyError\('port'\)"):
        link(scenario(), system=Broken())
