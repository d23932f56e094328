"""What a plug-in does in its client process, and what the lab makes of it: an answer, or one sentence that names the mistake."""

import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaos.environment import Services
from chaos.services.addresses import RedisAddress
from scenarios.contract.system import (
    Account,
    Accountable,
    Addressed,
    Audited,
    Bounded,
    Cancel,
    Embeddable,
    Handlers,
    Outcome,
    Pace,
    Paced,
    Policy,
    ReadStatus,
    Reserving,
    Submit,
    System,
)
from scenarios.errors import PluginFailed, PluginLost, RunFailed, WrongUsage
from scenarios.judging.guarantees import Guarantee
from scenarios.plugin import host
from scenarios.record.events import Event

ROOT = Path(__file__).parents[2]
SUBMIT = Submit("a", {"task": "a"})
POWERS = (Accountable, Audited, Bounded, Paced, Addressed, Reserving, Embeddable)


def test_a_system_has_the_powers_of_its_plug_in_and_no_others(remote: Any) -> None:
    able, healthy = remote("misbehaving:able"), remote("misbehaving:healthy")

    assert all(isinstance(system, System) for system in (able, healthy))
    assert [power.__name__ for power in POWERS if not isinstance(able, power)] == []
    assert [power.__name__ for power in POWERS if isinstance(healthy, power)] == []


def test_a_system_states_what_its_plug_in_states(remote: Any) -> None:
    able = remote("misbehaving:able")

    assert able.name == "able"
    assert able.claims == {Guarantee.NO_LOST_TASK}
    assert able.pace == Pace(quiet_s=2.0, lease_s=3)
    assert able.policy == Policy(attempts_max=3, budget_s=20)
    assert able.reservations == {"process_killed": {Guarantee.NO_LOST_TASK}}
    assert able.versions == {"able": "1.2"}
    assert able.capabilities == {"submit", "status"}
    assert type(able).__doc__ == "A system with every power that a client process can have."


def test_what_a_plug_in_answers_arrives_whole(remote: Any, services: Services) -> None:
    able = remote("misbehaving:able")
    client = able.client(services)

    assert client.invoke(SUBMIT) == Outcome("ok", id="1")
    assert client.invoke(ReadStatus("a", "1")) == Outcome("ok", state="SUCCEEDED", percent=100.0)
    client.close()
    assert able.account(services) == Account(done=("a",), dead=(), pending=())
    assert able.trail(services) == [Event(event="state", actor="database", t_ns=7, task="a", to="ACCEPTED")]
    assert able.dump(services) == {"a": "row of tasks"}
    assert able.api_url(services) == "http://127.0.0.1:8000"
    (worker,) = able.embedded_processes(services, Handlers({"A": "1"}))
    assert worker.env == {"A": "1", "TASKLAB_ACTOR": "worker-1"}
    able.check()


def test_clients_do_not_wait_for_one_another(remote: Any, services: Services) -> None:
    """Eight clients, half a second for each operation."""
    system = remote("misbehaving:slow")
    clients = [system.client(services) for _ in range(8)]
    outcomes: list[Outcome] = []
    threads = [threading.Thread(target=lambda one=one: outcomes.append(one.invoke(SUBMIT))) for one in clients]
    began_s = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert time.monotonic() - began_s < 8 * 0.5
    assert outcomes == [Outcome("info", detail="it took a while")] * 8
    system.check()


def test_each_run_has_a_client_process_of_its_own(remote: Any, services: Services) -> None:
    able = remote("misbehaving:able")
    able.client(services).invoke(SUBMIT)

    assert able.account(services).done == ("a",)
    assert able.account(replace(services, namespace="lab_2")).done == ()


def test_what_a_plug_in_prints_is_in_the_log_of_the_run(remote: Any, services: Services, tmp_path: Path) -> None:
    system = remote("misbehaving:spoils")
    system.processes(services, Handlers({"TASKLAB_RUN": str(tmp_path)}))

    outcome = system.client(services).invoke(SUBMIT)

    system.abandon()
    assert outcome == Outcome("ok", id="1")
    log = (tmp_path / "logs" / "client-process.log").read_text()
    assert sorted(log.split()) == ["echoed", "printed", "said", "written"]


def test_an_operation_that_hangs_may_have_happened_and_ends_the_client_process(remote: Any, services: Services) -> None:
    system = remote("misbehaving:hangs", invoke=0.3)
    client, other = system.client(services), system.client(services)

    outcome = client.invoke(SUBMIT)

    why = "the plug-in has not answered invoke for 0.3 s; its process was killed"
    assert outcome == Outcome("info", detail=why)
    with pytest.raises(PluginLost, match=why):
        other.invoke(SUBMIT)
    with pytest.raises(PluginLost, match=why):
        system.check()
    client.close()


@pytest.mark.parametrize("place", ["dies", "forks"])
def test_a_client_process_that_ends_is_named_with_its_exit_code(remote: Any, services: Services, place: str) -> None:
    """Also where a child of it holds the connection open."""
    system = remote(f"misbehaving:{place}")

    outcome = system.client(services).invoke(SUBMIT)

    assert outcome == Outcome("info", detail="the plug-in's process ended by itself, with exit code 7")
    with pytest.raises(PluginLost, match="exit code 7"):
        system.check()


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("leaves", "it called sys.exit(0)"),
        ("fails", "KeyError('no such table')"),
        ("forgets", "invoke(Submit) returned None, not Outcome"),
        ("counts", "malformed answer: Expected `str | null`, got `int` - at `$.id`"),
        ("invents", "malformed answer: Invalid enum value 'okay' - at `$.kind`"),
        ("lone", "its answer cannot be converted to JSON: 'utf-8' codec can't encode character"),
        ("not_a_number", "its answer cannot be converted to JSON: Out of range float values are not JSON compliant"),
    ],
)
def test_what_a_client_does_wrong_may_have_happened_and_is_a_problem_of_the_run(
    remote: Any, services: Services, place: str, why: str
) -> None:
    system = remote(f"misbehaving:{place}")

    outcome = system.client(services).invoke(SUBMIT)

    assert outcome.kind == "info"
    assert why in (outcome.detail or "")
    with pytest.raises(RunFailed) as failed:
        system.check()
    assert f"the plug-in of healthy failed in invoke(Submit): {why}" in str(failed.value)
    with pytest.raises(RunFailed):
        system.client(services)


def test_an_outcome_may_be_a_mapping(remote: Any, services: Services) -> None:
    assert remote("misbehaving:plain_words").client(services).invoke(SUBMIT) == Outcome("ok", id="1")


@pytest.mark.parametrize(
    ("place", "call", "why"),
    [
        ("leaves_account", "account", r"account\(\): it called sys.exit\(0\)"),
        ("fails_account", "account", r"account\(\): KeyError\('no such table'\)"),
        ("lists_account", "account", r"account\(\): account\(\) returned \['a'\], not Account"),
        ("numbers_account", "account", r"account\(\): malformed answer: Expected `str`, got `int`"),
        ("long", "account", r"account\(\): its answer has 100,\d+,\d+ bytes; at most 33,554,432 are allowed"),
        ("untimed_trail", "trail", r"trail\(\): state without a time"),
        ("leaves_client", "client", r"client\(\): it called sys.exit\(0\)"),
        ("forgets_client", "client", r"client\(\): client\(\) returned None, which has no invoke\(\)"),
        ("leaves_processes", "processes", r"processes\(\): it called sys.exit\(0\)"),
        ("forgets_processes", "processes", r"processes\(\) returned None, not a list of ProcessSpec"),
        ("words_processes", "processes", r"an item of processes\(\) returned 'acme worker', not ProcessSpec"),
        ("pathless", "processes", r"process '../../etc': a name has 1 to 64 letters"),
        ("twice", "processes", r"process 'worker-1': two processes have this name"),
    ],
)
def test_what_a_plug_in_does_wrong_is_named(remote: Any, services: Services, place: str, call: str, why: str) -> None:
    system = remote(f"misbehaving:{place}")
    arguments = (services, Handlers({})) if call == "processes" else (services,)

    with pytest.raises(PluginFailed, match=why):
        getattr(system, call)(*arguments)


def test_an_account_that_hangs_is_named(remote: Any, services: Services) -> None:
    system = remote("misbehaving:hangs_account", account=0.3)

    with pytest.raises(PluginLost, match=r"has not answered account for 0.3 s"):
        system.account(services)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("misbehaving:impatient", r"states pace.quiet_s = -5: it must be a number of seconds above 0"),
        (
            "misbehaving:endless",
            r"the plug-in does not load: its answer cannot be converted to JSON: Out of range float",
        ),
        ("misbehaving:misspelt", r"there is no promise 'no_lost_tusk'; did you mean no_lost_task"),
        ("misbehaving:needy", r"there is no service 'mysq'; did you mean mysql"),
        ("misbehaving:nowhere", r"the name '../../x': a name has 1 to 64 letters"),
        ("misbehaving:nameless", r"the plug-in's description is malformed: Expected `str`, got `null` - at `\$.name`"),
        ("misbehaving:scattered", r"claims is 'no_lost_task', not a set of names"),
        ("misbehaving:helthy", r"has no 'helthy'; did you mean healthy"),
        ("misbehaving:time", r"it lacks name, claims, needs, processes, client"),
        ("nothing:system", r"No module named 'tests.plugin.nothing'; is it installed, or on PYTHONPATH"),
        ("exits_at_import:system", r"the plug-in does not load: it called sys.exit\(0\)"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_started(remote: Any, place: str, why: str) -> None:
    with pytest.raises(WrongUsage, match=why):
        remote(place)


def test_a_client_process_needs_no_tasklab(remote: Any, services: Services) -> None:
    plain = remote.program([sys.executable, "-I", "-S", str(ROOT / "docs" / "examples" / "plain" / "client.py")])
    client = plain.client(services)

    assert client.invoke(SUBMIT) == Outcome("ok", id="a")
    assert client.invoke(Cancel("a", "a")).kind == "fail"
    assert plain.account(services) == Account(done=(), dead=(), cancelled=(), expired=(), pending=("a",))
    assert [spec.name for spec in plain.processes(services, Handlers({}))] == ["worker-1"]
    client.close()


def test_a_plug_in_may_live_in_an_interpreter_without_tasklab(remote: Any, services: Services) -> None:
    argv = [sys.executable, "-I", "-S", host.__file__, "foreign_plugin:system"]
    foreign = remote.program(argv, directory=ROOT / "tests" / "plugin")
    linked = replace(services, redis=RedisAddress("127.0.0.1", 2), links={})
    seen = replace(services, redis=RedisAddress("127.0.0.1", 1), links={"worker-1": linked})

    (worker,) = foreign.processes(seen, Handlers({}))
    outcome = foreign.client(seen).invoke(replace(SUBMIT, key="k"))

    addresses = ["redis://127.0.0.1:1/0", "redis://127.0.0.1:2/0"]
    assert worker.argv == ("worker", *addresses, str(services.directory / "x"))
    assert outcome == Outcome("ok", id="k")
    assert foreign.account(seen) == Account(pending=("a",))


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo hello; sleep 100", "violated the protocol: its output holds b'hello', which is not an answer"),
        ("read line; echo '{\"id\": 99}'; sleep 100", "it answered request 99, which is not open"),
        ("exec cat /dev/zero", "an answer has more than 33,554,432 bytes"),
        ("echo out of order >&2; exit 4", "ended by itself, with exit code 4; its last line: out of order"),
        ("exec /no/such/program", "its last line: sh: 1: exec: /no/such/program: not found"),
    ],
)
def test_a_program_that_does_not_speak_the_protocol_is_named(remote: Any, script: str, why: str) -> None:
    with pytest.raises(PluginLost) as lost:
        remote.program(["sh", "-c", script])

    assert why in str(lost.value)


def test_a_program_of_another_version_is_refused(remote: Any) -> None:
    script = 'read line; echo \'{"id": 1, "ok": {"protocol": 2, "name": "later"}}\'; cat'

    with pytest.raises(WrongUsage, match="speaks version 2 of the protocol; this lab speaks version 1"):
        remote.program(["sh", "-c", script])


def test_a_program_that_does_not_exist_is_named(remote: Any) -> None:
    with pytest.raises(PluginLost, match="cannot start /no/such/program: No such file or directory"):
        remote.program(["/no/such/program"])


def test_nothing_of_a_client_process_outlives_the_lab(tmp_path: Path) -> None:
    """The lab is killed while an operation hangs."""
    script = f"""
import sys
from pathlib import Path
from chaos.environment import Services
from scenarios.contract.system import Submit
from scenarios.plugin import host
from scenarios.plugin.remote_system import remote_system
system = remote_system([sys.executable, host.__file__, "tests.plugin.misbehaving:hangs"], "hangs", directory=Path({str(ROOT)!r}))
print(system._processes.present._warden.directory, flush=True)
system.client(Services("lab_1", Path({str(tmp_path)!r}), 8000)).invoke(Submit("a", {{}}))
"""
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout
        directory = Path(lab.stdout.readline().strip())
        assert directory.is_dir()
        lab.send_signal(signal.SIGKILL)

    from chaos.deadline import Deadline, wait
    from tests.leftovers import find_leftovers

    assert wait(lambda: str(find_leftovers(directory) or ""), Deadline.after(10), every_s=0.05) == ""
    assert wait(lambda: "it is there" if directory.exists() else "", Deadline.after(10), every_s=0.05) == ""


@pytest.mark.parametrize("file", ["host.py", "tasklab_plugin.py"])
def test_the_host_is_for_python_3_8_and_needs_nothing_but_the_standard_library(file: str) -> None:
    import ast

    tree = ast.parse((ROOT / "scenarios" / "plugin" / file).read_text(), feature_version=(3, 8))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert {name.split(".")[0] for name in imported} <= set(sys.stdlib_module_names)
