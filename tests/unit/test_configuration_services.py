"""A service of the user's own in tasklab.toml: each invalid value is refused with its key, and it plays the part that it states."""

from pathlib import Path

import pytest

from chaos.faults import DegradeNetwork, KillService
from chaos.services.declared.program import Readiness, ServiceProgram
from scenarios.configuration.read import read_configuration
from scenarios.errors import MalformedConfiguration
from scenarios.experiment.fitting import aimed, parts_of_system
from scenarios.experiment.scenario import AtStart, Scenario, Strike, Workload
from tasklab.commands.chosen_system import choose

DESCRIBED = """
name = "acme"
client = ["python3", "client.py"]
needs = ["redis"]
[processes.worker]
argv = ["python3", "{own.queue.host}", "{own.queue.port}", "{own.queue.ports.admin}"]
[services.queue]
plays = "broker"
argv = ["python3", "broker.py", "{port}", "{data}", "{redis.url}"]
ports = ["admin"]
ready = { command = ["python3", "ping.py", "{ports.admin}"] }
ready_within_s = 5
"""


def services(place: Path, text: str) -> tuple[ServiceProgram, ...]:
    file = place / "tasklab.toml"
    file.write_text(text)
    return read_configuration(file).description(None).services


def test_a_service_is_read_whole(tmp_path: Path) -> None:
    assert services(tmp_path, DESCRIBED) == (
        ServiceProgram(
            "queue",
            ("python3", "broker.py", "{port}", "{data}", "{redis.url}"),
            tmp_path,
            "broker",
            ("admin",),
            ready=Readiness("command", command=("python3", "ping.py", "{ports.admin}")),
            ready_within_s=5,
        ),
    )


@pytest.mark.parametrize(
    ("line", "ready"),
    [
        ("", Readiness()),
        ('ready = { http = "/health" }', Readiness("http", path="/health")),
        (
            'ready = { send = "PING\\r\\n", expect = "+PONG\\r\\n" }',
            Readiness("ask", send=b"PING\r\n", expect=b"+PONG\r\n"),
        ),
    ],
)
def test_the_ways_to_be_ready(tmp_path: Path, line: str, ready: Readiness) -> None:
    text = DESCRIBED.replace('ready = { command = ["python3", "ping.py", "{ports.admin}"] }', line)

    assert [one.ready for one in services(tmp_path, text)] == [ready]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("[services.queue]", "[services.mysql]", "services.mysql: a service of your own has a name of"),
        ("[services.queue]", '[services."a/b"]', "services.a/b: a service of your own has a name of"),
        ('plays = "broker"', 'plays = "boker"', 'services.queue.plays = "boker": it must be "broker" or "database" or'),
        ('plays = "broker"', 'play = "broker"', "there is no key services.queue.play; did you mean plays"),
        ('"{port}", ', "", "services.queue.argv: neither argv nor env holds {port}"),
        ("{data}", "{datum}", "there is no placeholder {datum}; did you mean {data}?"),
        ("{redis.url}", "{mysql.url}", "there is no placeholder {mysql.url}"),
        ('["admin"]', '["admin", "admin"]', "services.queue.ports = ['admin', 'admin']: each name has letters"),
        ('["admin"]', '["9"]', "services.queue.ports = ['9']: each name has letters"),
        ('"python3", "broker.py"', '"./gone"', "./gone is not a program that can be started in"),
        (
            "ready_within_s = 5",
            "ready_within_s = 0",
            "services.queue.ready_within_s = 0: it must be a number of seconds",
        ),
        ("ready_within_s = 5", 'stop_signal = "TERM"', 'services.queue.stop_signal = "TERM": it must be "SIGABRT" or'),
        ("{ command = ", '{ http = "/", command = ', "services.queue.ready: it states `command`, or `http`, or `send`"),
        ('"ping.py", "{ports.admin}"', '"{ports.amin}"', "{ports.amin}; did you mean {ports.admin}?"),
        (
            '{ command = ["python3", "ping.py", "{ports.admin}"] }',
            '{ http = "x" }',
            'ready.http = "x": it must be a path',
        ),
        ('{ command = ["python3", "ping.py", "{ports.admin}"] }', '{ send = "x" }', "ready: it states `command`, or"),
        (
            "{own.queue.port}",
            "{own.queu.port}",
            "there is no placeholder {own.queu.port}; did you mean {own.queue.port}",
        ),
        (
            "ready_within_s = 5",
            '[services.other]\nplays = "broker"\nargv = ["python3", "{port}"]',
            "services.other.plays: queue plays the broker already",
        ),
    ],
)
def test_an_invalid_service_is_refused_with_its_key(tmp_path: Path, before: str, after: str, why: str) -> None:
    assert before in DESCRIBED

    with pytest.raises(MalformedConfiguration) as raised:
        services(tmp_path, DESCRIBED.replace(before, after))

    assert str(raised.value).startswith("tasklab.toml: ")
    assert why in str(raised.value)


def test_what_strikes_the_broker_strikes_the_service_that_plays_it(tmp_path: Path) -> None:
    file = tmp_path / "tasklab.toml"
    file.write_text(DESCRIBED.replace('client = ["python3", "client.py"]', 'client = ["cat"]'))
    system = choose({}, read_configuration(file)).open()
    faults = (KillService("broker"), DegradeNetwork("worker", "broker", "delay", 5.0), KillService("redis"))
    stated = Scenario("s", "S.", Workload(1, 1), tuple(Strike(fault, AtStart()) for fault in faults), ())

    found = aimed(stated, parts_of_system(system))

    assert [strike.fault.struck_service for strike in found.strikes] == ["queue", "queue", "redis"]
    system.abandon()  # type: ignore[attr-defined]
