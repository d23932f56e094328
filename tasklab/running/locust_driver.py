"""Drives a run with Locust: starts it in a process of its own, follows what it records, and sees that it was the load asked for."""

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
from loadtests.figures import ON_TIME_S, figures_of, is_as_planned
from loadtests.handing_over import HISTORY_FILE, Line, decode_line, read_marks
from scenarios.contract.system import Addressed, Outcome
from scenarios.errors import RunFailed
from scenarios.experiment.live import LiveFigures
from scenarios.experiment.run import Run
from scenarios.experiment.submissions import Submissions

LOCUSTFILE = Path(arrivals.__file__).with_name("locustfile.py")
PROCESS = "locust"
START_TIMEOUT_S = 30.0
PRESS_TIMEOUT_S = 600.0
"""How long a page waits for somebody to press start."""
OVERTIME_S = 30.0
"""How long after its planned end a load may still wait for answers."""
LINGER_S = 3.0
"""A page reads the figures every two seconds: so long it can still read the last ones."""
STOP_TIMEOUT_S = 5.0
LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Page:
    """Locust's web page: on which loopback port, and whether the load waits for somebody to press start."""

    port: int
    autostart: bool

    @property
    def url(self) -> str:
        """Its address, with the lab's tab in front."""
        return f"http://{LOOPBACK}:{self.port}/?tab=reliability"


class Follower:
    """Reads on in the generator's history, and notes how its submissions ended."""

    def __init__(self, file: Path, submissions: Submissions) -> None:
        self._file = file
        self._submissions = submissions
        self._position = 0
        self.sent = 0

    def catch_up(self) -> None:
        """Take in what was written since the last time; half a line is left for the next."""
        if not self._file.exists():
            return
        with self._file.open("rb") as history:
            history.seek(self._position)
            content = history.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._position += len(whole)
        for line in map(decode_line, whole.splitlines()):
            self._take(line)

    def _take(self, line: Line) -> None:
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

    def __init__(self, run: Run, plan: LoadPlan, page: Page | None) -> None:
        assert isinstance(run.system, Addressed), "the command has looked whether there is an API to submit to"
        self._run = run
        self._plan = plan
        self._page = page
        self._url = run.system.api_url(run.services)
        self._directory = run.directory.path.resolve()
        self._follower = Follower(self._directory / HISTORY_FILE, run.submissions)
        self._live = LiveFigures(run, plan.tasks, lambda: self._follower.sent)
        self._process: Process | None = None
        self._deadline_s = 0.0

    def start(self) -> None:
        """See scenarios.experiment.driver.Driver. With a page and without autostart: returns when somebody has pressed start."""
        environment = self._run.environment
        self._live.start()
        self._process = process = environment.start_process(self._spec(), log_directory=self._run.directory.logs)
        timeout_s = START_TIMEOUT_S
        if self._page is not None:
            self._await_page(process, self._page)
            if not self._page.autostart:
                timeout_s = PRESS_TIMEOUT_S
        deadline_s = time.monotonic() + timeout_s
        while read_marks(self._directory) is None:
            self._check_alive(process)
            if time.monotonic() > deadline_s:
                raise RunFailed(f"the load had not begun after {timeout_s:g} s{self._who_waits()}")
            time.sleep(LOOK_S)  # the next look: there is nothing to be woken by
        self._deadline_s = time.monotonic() + self._plan.duration_s + OVERTIME_S

    def finished(self) -> bool:
        """See scenarios.experiment.driver.Driver.

        Raises:
            ProcessFailed: Locust ended on its own, or did not come to an end.
        """
        assert self._process is not None, "a driver is asked after it has been started"
        marks = read_marks(self._directory)
        self._follower.catch_up()  # after the marks: what was recorded before they were written is in
        if marks is not None and marks.over_ns is not None:
            return True
        self._check_alive(self._process)
        if time.monotonic() > self._deadline_s:
            raise ProcessFailed(PROCESS, f"the load was not over {OVERTIME_S:g} s after its planned end")
        return False

    def stop(self) -> None:
        """See scenarios.experiment.driver.Driver."""
        process, self._process = self._process, None
        if process is None:
            return
        self._live.stop()
        if self._page is not None and process.is_alive() and self._is_over():
            time.sleep(LINGER_S)
        self._run.environment.stop_process(process, timeout_s=STOP_TIMEOUT_S)

    def problems(self) -> Sequence[str]:
        """See scenarios.experiment.driver.Driver: a load that was not the one asked for proves nothing about it."""
        figures = figures_of(self._directory, self._plan)
        if is_as_planned(figures):
            return ()
        return (
            f"the load was not the one asked for: {figures.on_time} of {figures.planned} planned submissions "
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
            "--t0-ns": self._run.t0_ns,
            "--exit-code-on-error": 0,  # a refused submission is for the judges, not for Locust
        }
        argv = [sys.executable, "-P", "-m", "locust", "-f", str(LOCUSTFILE), "--only-summary"]
        argv += [word for name, value in stated.items() for word in (name, str(value))]
        if self._page is None:
            argv.append("--headless")
        else:
            argv += ["--web-host", LOOPBACK, "--web-port", str(self._page.port)]
            argv += ["--autostart"] if self._page.autostart else []
        # The path of this process: whatever PYTHONPATH says, the lab's modules come before those of the user.
        environment = {"PYTHONUNBUFFERED": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # In a directory of the run: Locust reads a locust.conf or pyproject.toml where it is started.
        return ProcessSpec(PROCESS, "load", argv, environment, cwd=self._run.services.directory)

    def _await_page(self, process: Process, page: Page) -> None:
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while is_refused(LOOPBACK, page.port):
            self._check_alive(process)
            if time.monotonic() > deadline_s:
                raise RunFailed(f"Locust's page did not answer within {START_TIMEOUT_S:g} s: {page.url}")
            time.sleep(LOOK_S)  # the next look: there is nothing to be woken by
        self._run.say(f"Locust's page: {page.url}" + ("" if page.autostart else "  (waits for you to press start)"))

    def _check_alive(self, process: Process) -> None:
        if not process.is_alive():
            tail = process.log.read_text(errors="replace")[-2000:]
            raise ProcessFailed(PROCESS, f"ended with exit code {process.exit_code()}", process.log, tail)

    def _is_over(self) -> bool:
        marks = read_marks(self._directory)
        return marks is not None and marks.over_ns is not None

    def _who_waits(self) -> str:
        return f": nobody pressed start on {self._page.url}" if self._page and not self._page.autostart else ""
