"""Faults of processes bite, heal, and say so when they do not. In the embedded world, for it takes no server."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from chaos.deadline import Deadline, wait
from chaos.environment import Environment, ProcessSpec, Services
from chaos.environments.embedded import EmbeddedEnvironment
from chaos.errors import ChaosError, FaultDidNotBite, FaultDidNotHeal, ProcessFailed
from chaos.faults import (
    DegradeNetwork,
    Fault,
    KillChild,
    KillProcess,
    KillService,
    PauseProcess,
    StopProcess,
    SwallowAck,
)
from chaos.hosting.processes import HostedProcess
from chaos.injectors import kill_child
from tests.leftovers import find_leftovers

PATIENCE_S = 30.0
TWO_THREADS = "import threading, time; threading.Thread(target=time.sleep, args=(1000,)).start(); print('up', flush=True); time.sleep(1000)"
FAMILY = "sh -c 'echo up; exec sleep 1000' & sleep 1000"

POOL = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
for connects in (False, True):
    if os.fork() == 0:
        line = socket.create_connection(listener.getsockname()) if connects else None
        if connects:
            print("up", os.getpid(), flush=True)
        time.sleep(1000)
kept = listener.accept()
time.sleep(1000)
"""
"""A process with two children, of which the second has a connection."""

Start = Callable[..., HostedProcess]


@pytest.fixture
def world() -> Iterator[EmbeddedEnvironment]:
    with EmbeddedEnvironment() as environment:
        directory = environment.directory
        yield environment
    assert find_leftovers(directory) == []


@pytest.fixture
def services(world: EmbeddedEnvironment) -> Services:
    return world.provision("test_processes")


@pytest.fixture
def start(world: EmbeddedEnvironment, tmp_path: Path) -> Start:
    def start_one(*argv: str, name: str = "worker-1", role: str = "worker", **options: object) -> HostedProcess:
        spec = ProcessSpec(name, role, argv or ("sleep", "1000"), **options)  # type: ignore[arg-type]
        return world.start_process(spec, log_directory=tmp_path)

    return start_one


def await_log(process: HostedProcess, text: str) -> None:
    assert not wait(lambda: "" if text in process.log.read_text() else text, Deadline.after(PATIENCE_S))


def test_the_embedded_world_is_an_environment(world: EmbeddedEnvironment, services: Services) -> None:
    environment: Environment = world  # what mypy checks

    environment.check_health(PATIENCE_S)
    assert environment.offers == frozenset()
    assert (services.mysql, services.redis, services.rabbitmq) == (None, None, None)
    assert services.directory.is_dir()


def test_a_killed_process_has_ended_by_signal_9_and_runs_again(
    world: EmbeddedEnvironment, services: Services, start: Start
) -> None:
    process = start("sh", "-c", "echo born; exec sleep 1000")
    await_log(process, "born")
    first = process.pid
    injection = world.injection(KillProcess("worker-1"), services, {"worker-1": process})

    injection.begin()
    evidence = injection.await_bite(PATIENCE_S).words

    assert evidence == f"pid {first} ended by SIGKILL"
    assert (process.is_alive(), process.exit_code()) == (False, -signal.SIGKILL)
    injection.end()
    injection.end()
    injection.await_healed(PATIENCE_S)
    assert process.is_alive()
    assert process.pid != first
    await_log(process, "born\nborn\n")


def test_a_kill_takes_the_descendants_with_it(world: EmbeddedEnvironment, services: Services, start: Start) -> None:
    process = start("sh", "-c", FAMILY)
    await_log(process, "up")
    family = {one.pid for one in psutil.Process(process.pid).children(recursive=True)}
    injection = world.injection(KillProcess("worker"), services, {"worker-1": process})

    injection.begin()

    assert injection.await_bite(PATIENCE_S).words.endswith(f"{len(family)} descendants with it")
    assert not [
        pid for pid in family if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ]
    injection.end()


def test_killing_what_has_ended_by_itself_does_not_bite(
    world: EmbeddedEnvironment, services: Services, start: Start
) -> None:
    process = start("sh", "-c", "exit 4")
    wait(lambda: "" if not process.is_alive() else "its end", Deadline.after(PATIENCE_S))
    injection = world.injection(KillProcess("worker-1"), services, {"worker-1": process})

    injection.begin()

    with pytest.raises(FaultDidNotBite, match="ended by itself, with exit code 4"):
        injection.await_bite(0.1)


def test_a_killed_process_that_does_not_start_again_is_not_healed(
    world: EmbeddedEnvironment, services: Services, start: Start, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    process = start("sh", "-c", f"[ -e {flag} ] && {{ echo I was here; exit 5; }}; touch {flag}; exec sleep 1000")
    assert not wait(lambda: "" if flag.exists() else "its flag", Deadline.after(PATIENCE_S))
    injection = world.injection(KillProcess("worker-1"), services, {"worker-1": process})
    injection.begin()
    injection.await_bite(PATIENCE_S)
    injection.end()

    with pytest.raises(FaultDidNotHeal, match=r"(?s)exit code 5.*I was here"):
        injection.await_healed(PATIENCE_S)


def test_a_stopped_process_ends_by_itself_and_runs_again(
    world: EmbeddedEnvironment, services: Services, start: Start
) -> None:
    process = start("sh", "-c", "trap 'exit 7' TERM; echo born; while :; do sleep 0.05; done")
    await_log(process, "born")
    first = process.pid
    injection = world.injection(StopProcess("worker"), services, {"worker-1": process})

    injection.begin()
    evidence = injection.await_bite(PATIENCE_S).words

    assert evidence.startswith(f"pid {first} got SIGTERM and ended with exit code 7 after 0.")
    injection.end()
    injection.end()
    injection.await_healed(PATIENCE_S)
    assert process.is_alive()
    await_log(process, "born\nborn\n")


def test_a_second_signal_reaches_a_process_that_has_not_ended(
    world: EmbeddedEnvironment, services: Services, start: Start
) -> None:
    process = start("sh", "-c", "trap 'trap \"exit 8\" TERM' TERM; echo born; while :; do sleep 0.05; done")
    await_log(process, "born")
    injection = world.injection(StopProcess("worker", signals=2), services, {"worker-1": process})

    injection.begin()

    assert "got SIGTERM and ended with exit code 8" in injection.await_bite(PATIENCE_S).words
    injection.end()


def test_a_process_that_outlives_its_time_of_grace_is_killed(
    world: EmbeddedEnvironment, services: Services, start: Start
) -> None:
    process = start("sh", "-c", "trap '' TERM; echo born; while :; do sleep 0.05; done")
    await_log(process, "born")
    injection = world.injection(StopProcess("worker", grace_s=0.2), services, {"worker-1": process})

    injection.begin()

    assert "got SIGTERM and did not end, and was killed after 0." in injection.await_bite(PATIENCE_S).words
    assert process.exit_code() == -signal.SIGKILL
    injection.end()


def test_a_process_that_has_ended_cannot_be_stopped(
    world: EmbeddedEnvironment, services: Services, start: Start
) -> None:
    process = start("sh", "-c", "exit 4")
    wait(lambda: "" if not process.is_alive() else "its end", Deadline.after(PATIENCE_S))

    with pytest.raises(FaultDidNotBite, match="it has ended already"):
        world.injection(StopProcess("worker"), services, {"worker-1": process}).begin()


def test_of_a_pool_the_child_with_a_connection_is_killed_and_its_parent_goes_on(
    world: EmbeddedEnvironment, services: Services, start: Start
) -> None:
    process = start(sys.executable, "-c", POOL)
    await_log(process, "up")
    child = int(process.log.read_text().split()[1])
    injection = world.injection(KillChild("worker"), services, {"worker-1": process})

    injection.begin()
    evidence = injection.await_bite(PATIENCE_S).words

    assert evidence == f"pid {child}, a child of pid {process.pid}, ended by SIGKILL"
    injection.end()
    injection.await_healed(PATIENCE_S)
    assert process.is_alive()
    assert len(family(process)) == 3


def test_a_process_without_children_has_no_child_to_kill(
    world: EmbeddedEnvironment, services: Services, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill_child, "FOUND_WITHIN_S", 0.1)
    process = start()

    with pytest.raises(FaultDidNotBite, match="its tasks run in the process itself"):
        world.injection(KillChild("worker"), services, {"worker-1": process}).begin()


@pytest.mark.parametrize(
    ("argv", "processes", "threads"), [((sys.executable, "-c", TWO_THREADS), 1, 2), (("sh", "-c", FAMILY), 3, 3)]
)
def test_a_pause_stops_every_thread_of_a_process_and_its_descendants(
    world: EmbeddedEnvironment, services: Services, start: Start, argv: tuple[str, ...], processes: int, threads: int
) -> None:
    process = start(*argv)
    await_log(process, "up")
    assert not wait(lambda: "" if len(family(process)) == processes else "its family", Deadline.after(PATIENCE_S))
    injection = world.injection(PauseProcess("worker-1"), services, {"worker-1": process})

    injection.begin()
    evidence = injection.await_bite(PATIENCE_S).words

    assert evidence == f"{processes} processes with {threads} threads are stopped (pid {process.pid} and below)"
    assert {one.status() for one in family(process)} == {psutil.STATUS_STOPPED}
    assert process.is_alive()
    injection.end()
    injection.end()
    injection.await_healed(PATIENCE_S)
    assert psutil.STATUS_STOPPED not in {one.status() for one in family(process)}


def test_a_pause_that_somebody_ends_too_early_did_not_bite(
    world: EmbeddedEnvironment, services: Services, start: Start
) -> None:
    process = start()
    injection = world.injection(PauseProcess("worker-1"), services, {"worker-1": process})
    injection.begin()
    injection.await_bite(PATIENCE_S)

    os.kill(process.pid, signal.SIGCONT)
    wait(
        lambda: "" if psutil.Process(process.pid).status() != psutil.STATUS_STOPPED else "run",
        Deadline.after(PATIENCE_S),
    )
    injection.end()

    with pytest.raises(FaultDidNotBite, match="another program has resumed it"):
        injection.await_healed(PATIENCE_S)


def test_a_process_that_dies_while_paused_does_not_count_as_resumed(
    world: EmbeddedEnvironment, services: Services, start: Start
) -> None:
    process = start()
    injection = world.injection(PauseProcess("worker-1"), services, {"worker-1": process})
    injection.begin()
    injection.await_bite(PATIENCE_S)

    os.kill(process.pid, signal.SIGKILL)
    wait(lambda: "" if not process.is_alive() else "its end", Deadline.after(PATIENCE_S))
    injection.end()

    with pytest.raises(FaultDidNotBite, match="it ended during the pause, with exit code -9"):
        injection.await_healed(PATIENCE_S)


def test_pausing_what_has_ended_does_not_bite(world: EmbeddedEnvironment, services: Services, start: Start) -> None:
    process = start("true")
    wait(lambda: "" if not process.is_alive() else "its end", Deadline.after(PATIENCE_S))
    injection = world.injection(PauseProcess("worker-1"), services, {"worker-1": process})

    injection.begin()

    with pytest.raises(FaultDidNotBite, match="it has ended, with exit code 0"):
        injection.await_bite(PATIENCE_S)


@pytest.mark.parametrize("fault", [KillProcess("worker-1"), PauseProcess("worker-1")])
def test_ending_a_fault_that_never_began_does_nothing(
    world: EmbeddedEnvironment, services: Services, start: Start, fault: Fault
) -> None:
    process = start()
    pid = process.pid

    world.injection(fault, services, {"worker-1": process}).end()

    assert (process.is_alive(), process.pid) == (True, pid)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (KillProcess("nobody"), "no process has the name or role 'nobody'; the processes are: worker-1"),
        (KillService("mysql"), "the environment 'embedded' cannot do service_killed: it runs no service"),
        (
            SwallowAck("worker-1", 1),
            r"'embedded' cannot do ack_swallowed: it cannot put a proxy .*\(possible in: local, containers, external\)",
        ),
        (
            DegradeNetwork("worker-1", "mysql", "delay", 5),
            "'embedded' cannot do network_degraded: it cannot put a proxy",
        ),
    ],
)
def test_a_fault_that_the_world_cannot_do_is_refused(
    world: EmbeddedEnvironment, services: Services, start: Start, fault: Fault, why: str
) -> None:
    with pytest.raises(ChaosError, match=why):
        world.injection(fault, services, {"worker-1": start()})


def test_a_role_means_the_first_process_that_plays_it(
    world: EmbeddedEnvironment, services: Services, start: Start
) -> None:
    processes = {
        "api": start(name="api", role="api", also=("relay",)),
        "relay-2": start(name="relay-2", role="relay"),
    }

    assert world.injection(KillProcess("relay"), services, processes).target == "api"
    assert world.injection(KillProcess("relay-2"), services, processes).target == "relay-2"


def test_a_process_stops_by_its_stop_signal(world: EmbeddedEnvironment, start: Start) -> None:
    process = start(
        "sh", "-c", "trap 'echo bye; exit 6' USR1; echo up; while :; do sleep 0.05; done", stop_signal="SIGUSR1"
    )
    await_log(process, "up")

    assert world.stop_process(process, timeout_s=PATIENCE_S) == 6
    assert process.log.read_text() == "up\nbye\n"


def test_a_stopped_process_stops_too(world: EmbeddedEnvironment, start: Start) -> None:
    process = start()
    os.kill(process.pid, signal.SIGSTOP)

    assert world.stop_process(process, timeout_s=PATIENCE_S) == -signal.SIGTERM


def test_what_does_not_heed_its_stop_signal_is_killed_with_its_descendants(
    world: EmbeddedEnvironment, start: Start
) -> None:
    process = start("sh", "-c", "trap '' TERM; echo up; (trap '' TERM; exec sleep 1000) & while :; do sleep 0.05; done")
    await_log(process, "up")
    assert not wait(lambda: "" if len(family(process)) > 1 else "its family", Deadline.after(PATIENCE_S))
    below = [one.pid for one in family(process)]

    assert world.stop_process(process, timeout_s=0.1) == -signal.SIGKILL
    assert not [pid for pid in below if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


def test_a_process_gets_the_labs_environment_and_its_own(world: EmbeddedEnvironment, start: Start) -> None:
    process = start("sh", "-c", "echo $PATH; echo $TASKLAB_TEST", env={"TASKLAB_TEST": "hello"}, runs_once=True)

    assert process.log.read_text() == f"{os.environ['PATH']}\nhello\n"


def test_a_preparation_that_fails_says_how(start: Start) -> None:
    with pytest.raises(ProcessFailed, match=r"(?s)process migrate: a preparation ended with 3.*no such table"):
        start("sh", "-c", "echo no such table; exit 3", name="migrate", runs_once=True)


def test_a_process_that_runs_is_not_restarted(world: EmbeddedEnvironment, start: Start) -> None:
    process = start()

    with pytest.raises(ProcessFailed, match="cannot be restarted while it runs"):
        world.restart_process(process)


def family(process: HostedProcess) -> list[psutil.Process]:
    root = psutil.Process(process.pid)
    return [root, *root.children(recursive=True)]
