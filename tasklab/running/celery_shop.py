"""The end of `tasklab demo`: the sample Celery app, with Celery's defaults and with settings for work that must not be lost."""

import importlib.util
import json
import signal
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasklab.running.judged_run import Say

ROOT = Path(__file__).parents[2]
SAMPLE = Path("docs") / "examples" / "celery_shop"
SETTINGS = ("defaults", "reliable")
"""Modules of the sample."""
SCENARIOS = ("worker_lost", "worker_stopped")
APP = ("--celery", "shop.tasks:app", "--task", "shop.tasks.charge")
INSTALL_TIMEOUT_S = 60.0
RUN_TIMEOUT_S = 300.0
LAB_CLEANS_UP_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class ShopRuns:
    """By settings: the runs of each scenario, as `tasklab run --json` prints them; `why_not`: the reason if there are none."""

    runs: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    reports: Mapping[str, Path] = field(default_factory=dict)
    why_not: str = ""

    def to_json(self) -> dict[str, object]:
        """For --json."""
        reports = {name: str(report) for name, report in self.reports.items()}
        return {"runs": dict(self.runs), "reports": reports, "why_not": self.why_not}


def run_celery_shop(seed: int, place: Path, say: Say) -> ShopRuns:
    """Make the sample's virtual environment, and run both configurations side by side; run directories are below `place`."""
    say(f"the sample Celery app, {SAMPLE}: a virtual environment for it")
    python = Path(sys.prefix) / "celery_shop" / "bin" / "python"
    if why_not := _make_environment(python):
        return ShopRuns(why_not=why_not)
    say(
        f"the sample Celery app: {' and '.join(SCENARIOS)}, with Celery's defaults and with reliable settings (a minute and a half)"
    )
    place = (place / "celery_shop").absolute()
    place.mkdir()
    started: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for settings in SETTINGS:
            started[settings] = _start(settings, python, seed, place)
        for process in started.values():
            process.wait(RUN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return ShopRuns(why_not=f"its runs were not over after {RUN_TIMEOUT_S:g} s; {place} has what they said")
    finally:
        _end(started)
    return _read(place)


def _make_environment(python: Path) -> str:
    """Make a virtual environment with what the sample requires, unless it is there already; the reason if that fails, else ""."""
    requirements = ROOT / SAMPLE / "requirements.txt"
    if not requirements.exists():
        return f"it is in {SAMPLE} of a clone, and this is an installation without it"
    by_hand = f"to see it: follow {SAMPLE}/README.md"
    made_for = python.parents[1] / "requirements.txt"
    if made_for.exists() and made_for.read_text() == requirements.read_text():
        return ""
    if importlib.util.find_spec("pip") is None:
        return f"this environment has no pip; {by_hand}"
    argv = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--retries", "1"]
    argv += ["--disable-pip-version-check", "--requirement", str(requirements)]
    try:
        venv.create(python.parents[1], clear=True, symlinks=True)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"pip had not installed it after {INSTALL_TIMEOUT_S:g} s; {by_hand}"
    except OSError as error:
        return f"{python.parents[1]} cannot be made: {error.strerror}; {by_hand}"
    if done.returncode:
        return f"pip cannot install it: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}; {by_hand}"
    made_for.write_text(requirements.read_text())
    return ""


def _start(settings: str, python: Path, seed: int, place: Path) -> "subprocess.Popen[bytes]":
    """The lab, as a user of the sample starts it: in a session of its own, so that Ctrl-C reaches it once."""
    argv = [
        "env",
        f"SHOP_SETTINGS=shop.{settings}",
        sys.executable,
        "-P",
        "-m",
        "tasklab",
        "run",
        *SCENARIOS,
        *APP,
        "--python",
        str(python),
    ]
    argv += ["--seed", str(seed), "--out", str(place / settings), "--json", "--no-config"]
    with (place / f"{settings}.json").open("wb") as out, (place / f"{settings}.log").open("wb") as log:
        return subprocess.Popen(argv, cwd=ROOT / SAMPLE, stdout=out, stderr=log, start_new_session=True)


def _end(started: "Mapping[str, subprocess.Popen[bytes]]") -> None:
    """Interrupt what still runs, and give it time to clean up."""
    running = [process for process in started.values() if process.poll() is None]
    for process in running:
        process.send_signal(signal.SIGINT)
    for process in running:
        try:
            process.wait(LAB_CLEANS_UP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()


def _read(place: Path) -> ShopRuns:
    runs = {}
    for settings in SETTINGS:
        printed = (place / f"{settings}.json").read_text(encoding="utf-8")
        if not printed:
            said = (place / f"{settings}.log").read_text(errors="replace").strip().splitlines()
            return ShopRuns(why_not=f"with shop.{settings} the lab could not run it: {(said or ['no reason'])[-1]}")
        runs[settings] = json.loads(printed)["runs"]
    reports = {settings: place / settings / "report.html" for settings in SETTINGS}
    return ShopRuns(runs, {settings: report for settings, report in reports.items() if report.exists()})
