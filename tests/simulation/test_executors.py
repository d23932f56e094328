"""Whoever runs the worlds, the rows are the same; and no process of a campaign outlives it."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from chaos.deadline import Deadline, wait
from scenarios.errors import ExecutorMissing
from scenarios.simulated.search.executors import in_this_process, processes, ray_cluster
from scenarios.simulated.search.explore import Work

SYSTEM = "reference"
WORKS = [Work("swarm", seed, with_digest=True) for seed in range(1, 13)]
PATIENCE_S = 60.0

no_ray = pytest.mark.skipif(find_spec("ray") is not None, reason="ray is installed")
with_ray = pytest.mark.skipif(find_spec("ray") is None, reason="ray is missing; pip install 'tasklab[ray]' brings it")


def test_two_processes_make_the_rows_that_one_makes() -> None:
    expected = {row.seed: row for row in in_this_process(SYSTEM, WORKS)}

    with processes(2) as executor:
        rows = {row.seed: row for row in executor(SYSTEM, WORKS)}

    assert rows == expected


@with_ray
@pytest.mark.filterwarnings("ignore")  # Ray's own, of which there are some
def test_ray_makes_the_rows_that_one_process_makes() -> None:
    expected = {row.seed: row for row in in_this_process(SYSTEM, WORKS)}

    with ray_cluster() as executor:
        rows = {row.seed: row for row in executor(SYSTEM, WORKS)}

    assert rows == expected


@no_ray
def test_without_ray_one_sentence_says_what_to_install() -> None:
    with pytest.raises(ExecutorMissing, match=r"pip install 'tasklab\[ray\]'"), ray_cluster():
        pass


def test_a_campaign_that_is_killed_leaves_no_process() -> None:
    campaign = psutil.Popen(
        [sys.executable, "-m", "tasklab", "simulate", "swarm", "--seeds", "1..100000", "--jobs", "2", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert campaign.stdout is not None
    campaign.stdout.readline()  # the first world is over: everybody is there
    others = campaign.children(recursive=True)

    campaign.kill()
    campaign.wait()
    campaign.stdout.close()

    assert len(others) >= 2
    assert psutil.wait_procs(others, timeout=PATIENCE_S)[1] == []


def test_a_campaign_of_which_a_process_is_killed_is_unknown_in_one_sentence() -> None:
    campaign = psutil.Popen(
        [sys.executable, "-m", "tasklab", "simulate", "swarm", "--seeds", "1..100000", "--jobs", "2", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert campaign.stdout is not None
    campaign.stdout.readline()
    worker = next(child for child in campaign.children() if any("spawn_main" in word for word in child.cmdline()))

    worker.kill()
    _, said = campaign.communicate(timeout=PATIENCE_S)

    assert campaign.returncode == 3
    assert "could not run the worlds" in said
    assert "Traceback" not in said


def test_a_closed_terminal_leaves_no_semaphore() -> None:
    argv = [sys.executable, "-m", "tasklab", "simulate", "swarm", "--seeds", "1..100000", "--jobs", "2", "--json"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()  # the first world is over
    maps = Path(f"/proc/{process.pid}/maps").read_text().split()
    semaphores = {Path(word) for word in maps if word.startswith("/dev/shm/sem.")}

    os.killpg(process.pid, signal.SIGHUP)
    process.communicate(timeout=60)  # until the last process of it has ended

    assert semaphores
    assert wait(lambda: "".join(str(one) for one in semaphores if one.exists()), Deadline.after(30.0)) == ""
