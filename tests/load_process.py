"""Starts `tasklab load` as a user does, and looks at what it leaves behind."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from loadtests.exchange_files import read_live, read_marks
from scenarios.stored.rundir import RunDirectory

TIMEOUT_S = 120.0
LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Ended:
    """A `tasklab load --json` that has ended."""

    exit_code: int
    said: Mapping[str, Any]
    stderr: str

    @property
    def directory(self) -> RunDirectory:
        return RunDirectory(Path(self.said["directory"]))

    @property
    def load(self) -> Mapping[str, Any]:
        figures: Mapping[str, Any] = self.said["load"]
        return figures


class Lab:
    """A `tasklab load --json` that goes on, and writes into `place`."""

    def __init__(self, place: Path, *arguments: str) -> None:
        self._place = place
        command = [sys.executable, "-m", "tasklab", "load", "--json", "--out", str(place), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self) -> Ended:
        """Wait for it."""
        stdout, stderr = self.process.communicate(timeout=TIMEOUT_S)
        said = json.loads(stdout)["runs"][0] if stdout else {}
        return Ended(self.process.returncode, said, stderr)

    def await_begun(self) -> None:
        """Until the first submission is due."""
        self.await_that(lambda: list(self._place.glob("*/load.json")))

    def await_that(self, holds: Callable[[], object]) -> None:
        deadline_s = time.monotonic() + TIMEOUT_S
        while not holds():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline_s, "it never came"
            time.sleep(LOOK_S)

    def since_begun_s(self) -> float:
        """By the run's clock, as the lab last wrote it down; zero before it did."""
        (directory,) = (file.parent for file in self._place.glob("*/load.json"))
        marks, live = read_marks(directory), read_live(directory)
        return (live.t_ns - marks.began_ns) / 1e9 if marks and live else 0.0

    def locust(self) -> psutil.Process:
        """The load generator's process."""
        (found,) = [process for process in left_of(self._place) if "locust" in process.cmdline()]
        return found


def load(place: Path, *arguments: str) -> Ended:
    """A load from its start to its end."""
    return Lab(place, *arguments).end()


def left_of(place: Path) -> Sequence[psutil.Process]:
    """The processes that were told of the place, the lab itself apart."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        command = process.info["cmdline"] or []
        told = any(str(place) in word for word in [*command, *(process.info["environ"] or {}).values()])
        if told and "load" not in command:
            found.append(process)
    return found
