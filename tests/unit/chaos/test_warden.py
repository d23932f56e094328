"""Nothing of a lab outlives it, however it ends: processes of every kind that try to get away, and files."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from chaos.deadline import Deadline, wait
from chaos.errors import ProcessFailed, WardenLost
from chaos.hosting.warden_client import WardenClient
from tests.leftovers import find_leftovers

PATIENCE_S = 30.0
OTHER_USER = (65534, 65534)
"""The ids of a user and a group: nobody on most machines, but none need have them."""


@dataclass
class Lab:
    process: subprocess.Popen[str]
    directory: Path
    started: int

    @property
    def guard(self) -> psutil.Process:
        return next(
            child for child in psutil.Process(self.process.pid).children() if "warden.py" in " ".join(child.cmdline())
        )

    @property
    def warden(self) -> psutil.Process:
        return self.guard.children()[0]

    def await_started(self) -> None:
        missing = wait(
            lambda: "" if len(self.warden.children(recursive=True)) >= self.started else "children",
            Deadline.after(PATIENCE_S),
        )
        assert not missing


Start = Callable[[str], Lab]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Lab] = []

    def start_one(last_words: str) -> Lab:
        started.append(start_lab(last_words))
        started[-1].await_started()
        return started[-1]

    yield start_one
    for lab in started:
        with suppress(ProcessLookupError):
            os.killpg(lab.process.pid, signal.SIGKILL)
        lab.process.communicate()
        leftovers_in_the_end(lab.directory)


def start_lab(last_words: str) -> Lab:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.unit.chaos.lab_process", last_words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        process_group=0,
        cwd=Path(__file__).parents[3],
    )
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    lab = Lab(process, Path(said["directory"]), said["started"])
    if last_words == "fork":
        process.stdout.readline()
    return lab


def leftovers_in_the_end(directory: Path) -> list[str]:
    wait(lambda: "; ".join(find_leftovers(directory)), Deadline.after(PATIENCE_S))
    return find_leftovers(directory)


def test_the_check_for_leftovers_sees_what_a_running_lab_has(start: Start) -> None:
    lab = start("wait")

    found = find_leftovers(lab.directory)

    assert len([one for one in found if one.startswith("process")]) >= lab.started + 2  # warden and guard
    assert f"file {lab.directory}" in found


@pytest.mark.parametrize("last_words", ["wait", "fork"])
def test_kill_9_of_the_lab_leaves_nothing(start: Start, last_words: str) -> None:
    lab = start(last_words)

    lab.process.kill()

    assert leftovers_in_the_end(lab.directory) == []


def test_ctrl_c_leaves_nothing(start: Start) -> None:
    lab = start("wait")

    os.killpg(lab.process.pid, signal.SIGINT)  # as a terminal does: to the whole foreground group

    assert lab.process.wait(PATIENCE_S) != 0
    assert leftovers_in_the_end(lab.directory) == []


def test_ctrl_c_does_not_reach_the_warden(start: Start) -> None:
    lab = start("wait")

    groups = {os.getpgid(lab.guard.pid), os.getpgid(lab.warden.pid)}

    assert lab.process.pid not in groups
    assert os.getsid(lab.warden.pid) != os.getsid(lab.process.pid)


def test_an_exception_in_the_lab_leaves_nothing(start: Start) -> None:
    lab = start("raise")
    assert lab.process.stdin is not None

    lab.process.stdin.write("now\n")
    lab.process.stdin.flush()

    assert lab.process.wait(PATIENCE_S) == 1
    assert leftovers_in_the_end(lab.directory) == []


@pytest.mark.parametrize("victim", ["warden", "guard"])
def test_kill_9_of_warden_or_guard_leaves_nothing(start: Start, victim: str) -> None:
    lab = start("wait")

    getattr(lab, victim).kill()

    assert leftovers_in_the_end(lab.directory) == []
    assert lab.process.poll() is None  # the lab itself lives, and can say what happened


def test_the_lab_is_told_when_its_warden_is_killed(tmp_path: Path) -> None:
    directory = tmp_path / "lab"
    directory.mkdir()
    warden = WardenClient(directory)
    child = warden.spawn("sleeper", ["sleep", "1000"], log=directory / "log")

    psutil.Process(child.pid).parent().kill()  # type: ignore[union-attr]

    assert child.wait(PATIENCE_S) == -signal.SIGKILL
    with pytest.raises(WardenLost, match="warden process ended"):
        warden.spawn("another", ["sleep", "1000"], log=directory / "log")
    warden.close()
    assert leftovers_in_the_end(directory) == []


@pytest.fixture
def warden(tmp_path: Path) -> Iterator[WardenClient]:
    directory = tmp_path / "lab"
    directory.mkdir()
    warden = WardenClient(directory)
    yield warden
    warden.close()
    assert find_leftovers(directory) == []


def test_an_exit_code_is_heard(warden: WardenClient) -> None:
    child = warden.spawn("short", ["sh", "-c", "echo last words; exit 7"], log=warden.directory / "log")

    assert child.wait(PATIENCE_S) == 7
    assert child.log_tail() == "last words"


def test_the_instant_of_an_end_is_known_however_late_the_lab_looks(warden: WardenClient) -> None:
    began_ns = time.monotonic_ns()
    child = warden.spawn("short", ["true"], log=warden.directory / "log")
    running = warden.spawn("sleeper", ["sleep", "1000"], log=warden.directory / "log")
    assert child.wait(PATIENCE_S) == 0
    seen_ns = time.monotonic_ns()

    assert child.ended_ns is not None
    assert began_ns < child.ended_ns <= seen_ns
    assert running.ended_ns is None


def test_output_is_appended_to_the_log(warden: WardenClient) -> None:
    for word in ("one", "two"):
        warden.spawn("speaker", ["echo", word], log=warden.directory / "log").wait(PATIENCE_S)

    assert (warden.directory / "log").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("argv", "cwd", "why"),
    [
        (["no-such-program"], None, "No such file or directory: no-such-program"),
        (["true"], Path("/no/such/directory"), "No such file or directory: /no/such/directory"),
        (["/etc/passwd"], None, "Permission denied: /etc/passwd"),
    ],
)
def test_a_process_that_cannot_start_says_why(
    warden: WardenClient, argv: list[str], cwd: Path | None, why: str
) -> None:
    with pytest.raises(ProcessFailed, match=why):
        warden.spawn("broken", argv, log=warden.directory / "log", cwd=cwd)


def test_killing_a_tree_reaches_what_has_left_it(warden: WardenClient) -> None:
    script = "(setsid sh -c 'echo $$; exec sleep 1000' &) ; sleep 1000"
    child = warden.spawn("daemon", ["sh", "-c", script], log=warden.directory / "log")
    assert not wait(lambda: "" if child.log_tail() else "its daemon", Deadline.after(PATIENCE_S))
    daemon = int(child.log_tail())

    killed = child.kill_tree(PATIENCE_S)

    assert {child.pid, daemon} <= set(killed)
    assert child.exit_code == -signal.SIGKILL
    assert not psutil.pid_exists(daemon) or psutil.Process(daemon).status() == psutil.STATUS_ZOMBIE


def test_killing_a_tree_after_its_root_ended_reaches_the_orphan_and_nobody_else(warden: WardenClient) -> None:
    other = warden.spawn("other", ["sleep", "1000"], log=warden.directory / "other.log")
    script = "(setsid sh -c 'echo $$; exec sleep 1000' &)"
    child = warden.spawn("daemon", ["sh", "-c", script], log=warden.directory / "log")
    assert child.wait(PATIENCE_S) == 0
    assert not wait(lambda: "" if child.log_tail() else "its daemon", Deadline.after(PATIENCE_S))

    killed = child.kill_tree(PATIENCE_S)

    assert killed == [int(child.log_tail())]
    assert other.exit_code is None


def test_an_ended_process_gets_no_signal(warden: WardenClient) -> None:
    child = warden.spawn("short", ["true"], log=warden.directory / "log")
    assert child.wait(PATIENCE_S) == 0

    assert child.signal(signal.SIGKILL) is False
    assert child.signal_tree(signal.SIGKILL) == []


def test_an_environment_larger_than_a_socket_buffer_arrives_whole(warden: WardenClient) -> None:
    values = {f"TASKLAB_TEST_{number}": "x" * 50_000 for number in range(20)}

    child = warden.spawn(
        "large",
        ["sh", "-c", "echo ${#TASKLAB_TEST_19}"],
        log=warden.directory / "log",
        env={"PATH": os.environ["PATH"], **values},
    )

    assert child.wait(PATIENCE_S) == 0
    assert child.log_tail() == "50000"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts a process of another user")
def test_a_child_of_another_user_ends_with_the_warden_and_its_guard_too(tmp_path: Path) -> None:
    directory = tmp_path / "lab"
    directory.mkdir()
    warden = WardenClient(directory)
    child = warden.spawn("sleeper", ["sleep", "1000"], log=directory / "log", cwd=Path("/"), user=OTHER_USER)
    process = psutil.Process(child.pid)
    ids = (process.uids(), process.gids())

    guard = psutil.Process(process.parent().parent().pid)  # type: ignore[union-attr]
    for one in (guard, process.parent()):
        one.kill()  # type: ignore[union-attr]

    gone, _ = psutil.wait_procs([process], timeout=PATIENCE_S)
    warden.close()
    assert gone == [process]
    assert [set(one) for one in ids] == [{number} for number in OTHER_USER]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do it")
def test_who_is_not_root_cannot_start_a_process_of_another_user(warden: WardenClient) -> None:
    with pytest.raises(ProcessFailed, match="could not be started: Operation not permitted"):
        warden.spawn("sleeper", ["sleep", "1000"], log=warden.directory / "log", user=OTHER_USER)
