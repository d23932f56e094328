"""The lab in pytest: the fixture `tasklab_run`, and the options of `pytest --pyargs tasklab.suite`.

Every run is a separate process, `tasklab run … --json`: no code of the lab is in the process of pytest, where the user's modules
may have the same names.
"""

import json
import shlex
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SUITE = "tasklab.suite"
OLD_SUITE = "scenarios.suite"
"""Its old address; in a wheel that name is free for the user."""
SHORT_NAMES = ("--system", "--environment", "--seeds", "--out")
"""Options that need no prefix when the suite runs; otherwise they may belong to another plug-in."""
LAB_CLEANS_UP_WITHIN_S = 30.0
IS_CLONE = not Path(__file__).with_name("_lab").exists()


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run. `exit_code`: 0 held, 1 broken, 3 unknown; `verdicts` and `account` as in verdicts.json.

    `system`: its name, or the options of the command line that name an app. `documented`: by promise, the sentence by which the
    documentation of the system's library says that it is not kept.
    """

    scenario: str
    system: str
    environment: str
    seed: int
    exit_code: int
    verdicts: Mapping[str, Mapping[str, Any]]
    account: Mapping[str, Any]
    problems: Sequence[str]
    documented: Mapping[str, str]
    directory: Path | None
    report: Path | None
    why: str

    @property
    def is_applicable(self) -> bool:
        """Whether the scenario had a target; if not, `why` is the reason."""
        return self.directory is not None

    @property
    def repeat(self) -> str:
        """The command that repeats it."""
        return " ".join(["tasklab", *_arguments(self.scenario, self.system, self.environment, self.seed)])

    def explain(self) -> str:
        """The message of the failed test."""
        bad = {name: one for name, one in self.verdicts.items() if one["verdict"] != "held"}
        lines = [f"{self.scenario} × {self.system}: {'broken' if self.exit_code == 1 else 'unknown'}"]
        lines += [f"  {name} is {one['verdict']}: {one['reason']}" for name, one in bad.items()]
        lines += [f"  problem: {problem}" for problem in self.problems]
        return "\n".join([*lines, f"repeat: {self.repeat}", f"report: {self.report}"])


TasklabRun = Callable[..., Run]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; with `--pyargs tasklab.suite` also without their prefix."""
    group = parser.getgroup("tasklab", "runs of tasklab (with --pyargs tasklab.suite also without the prefix tasklab-)")
    group.addoption(
        "--tasklab-system",
        metavar="S",
        default="reference",
        help="A name, or package.module:attribute of your plug-in.",
    )
    group.addoption(
        "--tasklab-environment",
        metavar="E",
        default="local",
        help="local, embedded, containers, external or simulated.",
    )
    group.addoption(
        "--tasklab-seeds", metavar="A..B", default="1..1", help="Of the suite: each scenario once for each seed."
    )
    group.addoption("--tasklab-out", metavar="DIR", help="Holds the run directories. Default: a new one in runs/.")


def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Give the suite's options their full names, and the suite its current address."""
    chosen = early_config.known_args_namespace.file_or_dir
    is_old = OLD_SUITE in chosen and IS_CLONE
    if is_old:
        warnings.warn(f"{OLD_SUITE} is an old address; use: pytest --pyargs {SUITE}", DeprecationWarning, stacklevel=1)
        args[:] = [SUITE if argument == OLD_SUITE else argument for argument in args]
    if is_old or SUITE in chosen:
        args[:] = [_full_name(argument) for argument in args]


def _full_name(argument: str) -> str:
    name, equals, value = argument.partition("=")
    return f"--tasklab-{name.removeprefix('--')}{equals}{value}" if name in SHORT_NAMES else argument


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse reruns, which would repeat a run until its promises hold.

    Raises:
        UsageError: reruns are requested.
    """
    for item in items:
        wants_reruns = config.getoption("reruns", None) or item.get_closest_marker("flaky")
        if wants_reruns and "tasklab_run" in getattr(item, "fixturenames", ()):
            raise pytest.UsageError(f"{item.nodeid}: a rerun would hide a verdict of the lab; run it without reruns")


@pytest.fixture(scope="session")
def tasklab_out(pytestconfig: pytest.Config) -> Path:
    """The directory that holds the runs of this session."""
    if pytestconfig.getoption("tasklab_out"):
        return Path(pytestconfig.getoption("tasklab_out"))
    runs = Path("runs")
    runs.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="pytest-", dir=runs))


@pytest.fixture
def tasklab_run(pytestconfig: pytest.Config, tasklab_out: Path, request: pytest.FixtureRequest) -> TasklabRun:
    """`tasklab_run(scenario, system=…, environment=…, seed=…)`: runs it; the test fails unless every claimed promise held.

    `app`: in place of `system` the options of the command line that name an app, such as `celery="shop.tasks:app", task="charge"`.
    Default arguments come from the options. A scenario that has no target in that system skips the test. With
    `check=False` the test neither fails nor is skipped: it checks the returned `Run` itself.
    """

    def run(
        scenario: str,
        *,
        system: str | None = None,
        environment: str | None = None,
        seed: int = 1,
        check: bool = True,
        **app: str,
    ) -> Run:
        done = _run(
            scenario,
            _options_of(system, app, default=pytestconfig.getoption("tasklab_system")),
            environment or pytestconfig.getoption("tasklab_environment"),
            seed,
            out=Path(tempfile.mkdtemp(prefix=f"{request.node.name[:40].translate(_PLAIN)}-", dir=_made(tasklab_out))),
        )
        if check and not done.is_applicable:
            pytest.skip(f"not applicable: {done.why}")
        if check and done.exit_code:
            pytest.fail(done.explain(), pytrace=False)
        return done

    return run


_PLAIN = str.maketrans(dict.fromkeys("/[]: ", "-"))


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _options_of(system: str | None, app: Mapping[str, str], *, default: str) -> str:
    """The name of the system, or the options that name it, or an app."""
    if not app:
        return system or default
    named = app if system is None else {"system": system, **app}
    return shlex.join(f"--{name}={value}" for name, value in named.items())


def _arguments(scenario: str, system: str, environment: str, seed: int) -> list[str]:
    named = shlex.split(system) if system.startswith("--") else ["--system", system]
    return ["run", scenario, *named, "--environment", environment, "--seed", str(seed)]


def _run(scenario: str, system: str, environment: str, seed: int, *, out: Path) -> Run:
    arguments = _arguments(scenario, system, environment, seed)
    code, printed = run_lab([*arguments, "--out", str(out), "--json"])
    if not printed:
        pytest.fail(
            f"tasklab {' '.join(arguments)}: ended with exit code {code}; the reason is on standard error",
            pytrace=False,
        )
    (found,) = json.loads(printed)["runs"]
    return Run(
        scenario=scenario,
        system=system,
        environment=environment,
        seed=seed,
        exit_code=found["exit_code"],
        verdicts=found.get("verdicts", {}),
        account=found.get("account", {}),
        problems=found.get("problems", []),
        documented=found["documented"],
        directory=found["directory"] and Path(found["directory"]),
        report=found["report"] and Path(found["report"]),
        why=found["why"],
    )


def run_lab(arguments: Sequence[str]) -> tuple[int, str]:
    """Exit code and standard output of `tasklab ARGUMENTS`. If pytest is interrupted, so is the lab, once, with time to clean up."""
    argv = [sys.executable, "-P", "-m", "tasklab", *arguments]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        try:
            printed, _ = process.communicate()
        except BaseException:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(LAB_CLEANS_UP_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return process.returncode, printed
