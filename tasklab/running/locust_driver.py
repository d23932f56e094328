"""Drives a run with Locust: starts it as a process, follows its history, and checks that the load was as planned."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos.environment import Process, ProcessSpec
from chaos.errors import ProcessFailed
from chaos.ports import LOOPBACK, is_refused
from loadtests import arrivals
from loadtests.arrivals import LoadPlan
from loadtests.exchange_files import HISTORY_FILE, SubmissionLine, decode_line, read_marks
from loadtests.figures import ON_TIME_S, figures_of, is_as_planned
from scenarios.contract.system import Addressed, Outcome
from scenarios.errors import RunFailed
from scenarios.experiment.run import Experiment
from scenarios.experiment.submissions import Submissions
from scenarios.real.live import LiveFigures
from scenarios.real.stage import RealStage

LOCUSTFILE = Path(arrivals.__file__).with_name("locustfile.py")
PROCESS = "locust"
START_TIMEOUT_S = 30.0
PRESS_TIMEOUT_S = 600.0
"""How long a page waits for a person to press start."""
OVERTIME_S = 30.0
"""Maximum time after its planned end that a load may wait for answers."""
LINGER_S = 3.0
"""A page reads the figures every two seconds: long enough for it to read the last ones."""
STOP_TIMEOUT_S = 5.0
LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Page:
    """Locust's web page: its loopback port, and whether the load begins without pressing start."""

    port: int
    autostart: bool

    @property
    def url(self) -> str:
        """Its address, with the lab's tab in front."""
        return f"http://{LOOPBACK}:{self.port}/?tab=reliability"


class Follower:
    """Reads the generator's history as it grows, and reports the outcomes of its submissions."""

    def __init__(self, file: Path, submissions: Submissions) -> None:
        self._file = file
        self._submissions = submissions
        self._position = 0
        self.sent = 0

    def catch_up(self) -> None:
        """Read the lines written since the last call; an unfinished line is left for the next call."""
        if not self._file.exists():
            return
        with self._file.open("rb") as history:
            history.seek(self._position)
            content = history.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._position += len(whole)
        for line in map(decode_line, whole.splitlines()):
            self._take(line)

    def _take(self, line: SubmissionLine) -> None:
        match line.event:
            case "submit.invoke":
                self.sent += 1
            case "submit.ok":
                self._submissions.note(line.task, Outcome("ok", id=line.id))
            case "submit.fail":
                self._submissions.note(line.task, Outcome("fail", detail=line.detail))
            case "submit.info":
                self._submissions.note(line.task, Outcome("info", detail=line.detail))


class LocustDriver:
    """Locust as a `scenarios.experiment.driver.Driver`: headless, or with its page."""

    def __init__(self, stage: RealStage, experiment: Experiment, plan: LoadPlan, page: Page | None) -> None:
        assert isinstance(stage.system, Addressed), "the command has checked that the system has an API"
        self._stage = stage
        self._plan = plan
        self._page = page
        self._url = stage.system.api_url(stage.services)
        self._directory = stage.directory.path.resolve()
        self._follower = Follower(self._directory / HISTORY_FILE, experiment.submissions)
        self._live = LiveFigures(stage, experiment, plan.tasks, lambda: self._follower.sent)
        self._process: Process | None = None
        self._deadline_s = 0.0

    def start(self) -> None:
        """Start Locust; returns when the load has begun. With a page and without autostart: when a person has pressed start."""
        environment = self._stage.environment
        self._live.start()
        self._process = process = environment.start_process(self._spec(), log_directory=self._stage.directory.logs)
        timeout_s = START_TIMEOUT_S
        if self._page is not None:
            self._await_page(process, self._page)
            if not self._page.autostart:
                timeout_s = PRESS_TIMEOUT_S
        deadline_s = time.monotonic() + timeout_s
        while read_marks(self._directory) is None:
            self._check_alive(process)
            if time.monotonic() > deadline_s:
                raise RunFailed(f"the load had not begun after {timeout_s:g} s{self._unpressed()}")
            time.sleep(LOOK_S)  # polling: nothing can wake this loop
        self._deadline_s = time.monotonic() + self._plan.duration_s + OVERTIME_S

    def await_end(self) -> None:
        """Block until the load is over, all its answers included.

        Raises:
            ProcessFailed: Locust ended too early, or did not end.
        """
        while not self._has_ended():
            time.sleep(LOOK_S)  # polling: nothing can wake this loop

    def _has_ended(self) -> bool:
        assert self._process is not None, "await_end() is called after start()"
        marks = read_marks(self._directory)
        self._follower.catch_up()  # after the marks: events recorded before them are then included
        if marks is not None and marks.over_ns is not None:
            return True
        self._check_alive(self._process)
        if time.monotonic() > self._deadline_s:
            raise ProcessFailed(PROCESS, f"the load was not over {OVERTIME_S:g} s after its planned end")
        return False

    def stop(self) -> None:
        """End Locust; with a page, a few seconds after the load."""
        process, self._process = self._process, None
        if process is None:
            return
        self._live.stop()
        if self._page is not None and process.is_alive() and self._is_over():
            time.sleep(LINGER_S)
        self._stage.environment.stop_process(process, timeout_s=STOP_TIMEOUT_S)

    def problems(self) -> Sequence[str]:
        """A problem if the load was not as planned, since it then proves nothing about the planned load."""
        figures = figures_of(self._directory, self._plan)
        if is_as_planned(figures):
            return ()
        return (
            f"the load was not as planned: {figures.on_time} of {figures.planned} planned submissions "
            f"({figures.on_time / figures.planned:.0%}) were sent within {ON_TIME_S:g} s of their instant, {figures.sent} in all; "
            f"offered {figures.offered_per_s:g}/s, planned {figures.planned_per_s:g}/s, the latest {figures.latest_s:.1f} s late "
            "(stopped by hand, or a machine too busy for this rate)",
        )

    def _spec(self) -> ProcessSpec:
        plan = self._plan
        stated = {
            "--host": self._url,
            "--rate": plan.rate_per_s,
            "--duration": plan.duration_s,
            "--seed": plan.seed,
            "--directory": self._directory,
            "--t0-ns": self._stage.t0_ns,
            "--exit-code-on-error": 0,  # the judges decide about a refused submission, not Locust
        }
        argv = [sys.executable, "-P", "-m", "locust", "-f", str(LOCUSTFILE), "--only-summary"]
        argv += [word for name, value in stated.items() for word in (name, str(value))]
        if self._page is None:
            argv.append("--headless")
        else:
            argv += ["--web-host", LOOPBACK, "--web-port", str(self._page.port)]
            argv += ["--autostart"] if self._page.autostart else []
        # The path of this process: with any PYTHONPATH, the lab's modules come before the user's.
        environment = {"PYTHONUNBUFFERED": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # In a directory of the run: Locust reads a locust.conf or pyproject.toml where it is started.
        return ProcessSpec(PROCESS, "load", argv, environment, cwd=self._stage.services.directory)

    def _await_page(self, process: Process, page: Page) -> None:
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while is_refused(LOOPBACK, page.port):
            self._check_alive(process)
            if time.monotonic() > deadline_s:
                raise RunFailed(f"Locust's page did not answer within {START_TIMEOUT_S:g} s: {page.url}")
            time.sleep(LOOK_S)  # polling: nothing can wake this loop
        self._stage.say(f"Locust's page: {page.url}" + ("" if page.autostart else "  (waits for you to press start)"))

    def _check_alive(self, process: Process) -> None:
        if not process.is_alive():
            tail = process.log.read_text(errors="replace")[-2000:]
            raise ProcessFailed(PROCESS, f"ended with exit code {process.exit_code()}", process.log, tail)

    def _is_over(self) -> bool:
        marks = read_marks(self._directory)
        return marks is not None and marks.over_ns is not None

    def _unpressed(self) -> str:
        return f": start was not pressed on {self._page.url}" if self._page and not self._page.autostart else ""
