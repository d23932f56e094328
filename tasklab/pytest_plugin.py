"""The lab in pytest: the fixture `tasklab_run`, the marker `tasklab`, and the options of `pytest --pyargs tasklab.suite`.

This one file is the plug-in of two distributions: tasklab has it as `tasklab.pytest_plugin`, pytest-tasklab (`.ci/pytest-tasklab`) as
`pytest_tasklab`, for projects whose environment has no tasklab. It needs pytest and the standard library, from Python 3.8 on. Every run
is a separate process, `tasklab run … --json`: no code of the lab is in the process of pytest, and nothing here judges.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

import pytest

SUITE = "tasklab.suite"
OLD_SUITE = "scenarios.suite"
"""Its old address; in a wheel that name is free for the user."""
SHORT_NAMES = ("--system", "--environment", "--seeds", "--out")
"""Options that need no prefix when the suite runs; otherwise they may belong to another plug-in."""
APPS = ("celery", "dramatiq", "rq", "procrastinate")
"""Arguments that name an app of the user's."""
LAB_CLEANS_UP_WITHIN_S = 30.0
IS_PART_OF_TASKLAB = __name__ == "tasklab.pytest_plugin"
IS_CLONE = IS_PART_OF_TASKLAB and not Path(__file__).with_name("_lab").exists()
NOT_FOUND = (
    "no program tasklab beside this Python, on PATH or among pipx's: install it in an environment of its own "
    "(pipx install PATH-OR-URL-OF-TASKLAB), or name it by --tasklab-executable or the variable TASKLAB"
)


@dataclass(frozen=True)
class Run:
    """A finished run. `exit_code`: 0 held, 1 broken, 3 unknown; `verdicts` and `account` as in verdicts.json.

    `documented`: by promise, the sentence by which the documentation of the system's library says that it is not kept. `directory` and
    `report` are None if the scenario has no target in this system; `why` is the reason. `repeat`: the command that repeats the run.
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
    repeat: str

    @property
    def is_applicable(self) -> bool:
        """Whether the scenario had a target; if not, `why` is the reason."""
        return self.directory is not None

    @property
    def ruling(self) -> str:
        """Of the whole run: held, broken, unknown or not applicable."""
        if not self.is_applicable:
            return "not applicable"
        return {0: "held", 1: "broken"}.get(self.exit_code, "unknown")

    def explain(self) -> str:
        """The message of the failed test: the verdicts as a table, the command that repeats the run, its report."""
        width = max(map(len, self.verdicts), default=0)
        lines = [f"{self.scenario} × {self.system}, seed {self.seed}: {self.ruling}"]
        lines += [
            f"  {name:<{width}}  {one['verdict']:<7}  {one['reason']}".rstrip() for name, one in self.verdicts.items()
        ]
        lines += [f"problem: {problem}" for problem in self.problems]
        lines += [f"documented: {name}: {said}" for name, said in self.documented.items() if self._breaks(name)]
        return "\n".join([*lines, f"repeat: {self.repeat}", f"report: {self.report}"])

    def properties(self) -> Iterator[tuple[str, str]]:
        """Of the test, in JUnit's XML."""
        named = {"scenario": self.scenario, "system": self.system, "seed": self.seed, "ruling": self.ruling}
        named.update({name: one["verdict"] for name, one in self.verdicts.items()})
        named.update({"report": self.report, "repeat": self.repeat})
        return ((f"tasklab_{name}", str(value)) for name, value in named.items() if value is not None)

    def _breaks(self, name: str) -> bool:
        return name in self.verdicts and self.verdicts[name]["verdict"] == "broken"


TasklabRun = Callable[..., Run]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; with `--pyargs tasklab.suite` four of them also without their prefix."""
    group = parser.getgroup("tasklab", "runs of tasklab (with --pyargs tasklab.suite also without the prefix tasklab-)")

    def option(name: str, metavar: str, said: str) -> None:
        group.addoption(f"--tasklab-{name}", metavar=metavar, help=said)

    option("executable", "PATH", "The program tasklab. Default: TASKLAB, beside this Python, on PATH, or pipx's.")
    option("system", "S", "A name, or package.module:attribute of your plug-in. Default: that of `tasklab run`.")
    option("environment", "E", "local, embedded, containers, external or simulated. Default: local.")
    option("options", "ARGUMENTS", 'Further options of each `tasklab run`, such as "--workers 4 --unscaled".')
    option("seeds", "A..B", "Each test that uses the lab once for each of these seeds. Default: seed 1.")
    option("out", "DIR", "Holds the run directories. Default: a new one in runs/.")


def pytest_configure(config: pytest.Config) -> None:
    """The marker."""
    config.addinivalue_line(
        "markers",
        "tasklab(**arguments): uses the lab; every test with the fixture tasklab_run has it. Its arguments are defaults of the fixture's.",
    )


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
    return f"--tasklab-{name[2:]}{equals}{value}" if name in SHORT_NAMES else argument


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With --tasklab-seeds each test that uses the lab, once for each seed."""
    seeds = metafunc.config.getoption("tasklab_seeds")
    if seeds is not None and "tasklab_run" in metafunc.fixturenames:
        metafunc.parametrize("tasklab_seed", _seeds(seeds))


def _seeds(text: str) -> range:
    match = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if match is None or int(match[1]) > int(match[2]):
        raise pytest.UsageError(f"--tasklab-seeds is A..B, with B not less than A, such as 1..10; not {text!r}")
    return range(int(match[1]), int(match[2]) + 1)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark each test that uses the lab, so that `-m "not tasklab"` leaves them out."""
    if "tasklab_run" in getattr(item, "fixturenames", ()):
        item.add_marker("tasklab")


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
    return Path(tempfile.mkdtemp(prefix="pytest-", dir=str(runs)))


@pytest.fixture
def tasklab_seed() -> int:
    """The seed of a call that states none."""
    return 1


@pytest.fixture
def tasklab_run(
    pytestconfig: pytest.Config, tasklab_out: Path, tasklab_seed: int, request: pytest.FixtureRequest
) -> TasklabRun:
    """`tasklab_run(scenario, system=…, environment=…, seed=…)`: runs it; the test fails unless every claimed promise held.

    `options`: those of `tasklab run`, as `celery="shop.tasks:app", task="charge", workers=4, unscaled=True`. Arguments of the marker
    `tasklab` are their defaults, then the options of pytest. A scenario that has no target in that system skips the test. With
    `check=False` the test neither fails nor is skipped: it checks the returned `Run` itself.
    """
    marked: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("tasklab"))):
        marked = _combined(marked, marker.kwargs)
    further = shlex.split(pytestconfig.getoption("tasklab_options") or "")

    def run(scenario: str, *, check: bool = True, **options: Any) -> Run:
        given = _combined(_defaults(pytestconfig), _combined(marked, options))
        given.setdefault("seed", tasklab_seed)
        place = tempfile.mkdtemp(prefix=f"{request.node.name[:40].translate(_PLAIN)}-", dir=str(_made(tasklab_out)))
        arguments = ["run", scenario, *further, *_arguments(given)]
        program = _program(pytestconfig)
        done = _read(*run_lab(program, [*arguments, "--out", place, "--json"]), program, arguments)
        request.node.user_properties.extend(done.properties())
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


def _defaults(config: pytest.Config) -> dict[str, Any]:
    named = {name: config.getoption(f"tasklab_{name}") for name in ("system", "environment")}
    return {name: value for name, value in named.items() if value is not None}


def _combined(farther: Mapping[str, Any], nearer: Mapping[str, Any]) -> dict[str, Any]:
    """Both; a system or an app that the nearer one names replaces that of the farther, with the name of its task."""
    systems = ("system", *APPS)
    stated = {name: value for name, value in nearer.items() if value is not None}
    replaced = (*systems, "task") if any(name in stated for name in systems) else ()
    return {**{name: value for name, value in farther.items() if name not in replaced}, **stated}


def _arguments(options: Mapping[str, Any]) -> list[str]:
    """The options as arguments of `tasklab run`. The user's code runs in the Python that runs its tests, unless `python` names another."""
    is_users = any(name in options for name in APPS) or (":" in options.get("system", "") and not IS_PART_OF_TASKLAB)
    named = {**options, "python": options.get("python", _this_python())} if is_users else options
    arguments = []
    for name, value in named.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(option)
        elif value is not False:
            arguments.append(f"{option}={','.join(value) if isinstance(value, (list, tuple)) else value}")
    return arguments


def _this_python() -> str:
    here = os.path.join(os.getcwd(), "")
    return sys.executable[len(here) :] if sys.executable.startswith(here) else sys.executable


def _read(code: int, printed: str, program: Sequence[str], arguments: Sequence[str]) -> Run:
    on_path = IS_PART_OF_TASKLAB or shutil.which("tasklab") == program[0]
    name = "tasklab" if on_path else shlex.quote(program[0])
    command = f"{name} {' '.join(map(shlex.quote, arguments))}"
    if not printed:
        pytest.fail(f"{command}: ended with exit code {code}; the reason is on standard error", pytrace=False)
    (found,) = json.loads(printed)["runs"]
    if found["exit_code"] != code:  # it was ended after it had printed its verdicts, or it is another program
        pytest.fail(f"{command}: ended with exit code {code}, and printed {found['exit_code']}", pytrace=False)
    return Run(
        scenario=found["scenario"],
        system=found["system"],
        environment=found["environment"],
        seed=found["seed"],
        exit_code=found["exit_code"],
        verdicts=found.get("verdicts", {}),
        account=found.get("account", {}),
        problems=found.get("problems", []),
        documented=found["documented"],
        directory=found["directory"] and Path(found["directory"]),
        report=found["report"] and Path(found["report"]),
        why=found["why"],
        repeat=found["repeat"].replace("tasklab", name, 1),
    )


def _program(config: pytest.Config) -> list[str]:
    """How the lab is started; fails the test where there is none."""
    stated = config.getoption("tasklab_executable") or os.environ.get("TASKLAB")
    if not stated and IS_PART_OF_TASKLAB:
        return [sys.executable, "-P", "-m", "tasklab"]
    bins = os.environ.get("PIPX_BIN_DIR") or os.path.expanduser("~/.local/bin")
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", ""), bins])
    found = shutil.which(stated or "tasklab", path=path)
    if found is None:
        pytest.fail(f"{stated}: there is no such program" if stated else NOT_FOUND, pytrace=False)
    return [found]


def run_lab(program: Sequence[str], arguments: Sequence[str]) -> tuple[int, str]:
    """Exit code and standard output of `tasklab ARGUMENTS`. If pytest is interrupted, so is the lab, once, with time to clean up."""
    argv = [*program, *arguments]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, encoding="utf-8", start_new_session=True) as process:
        try:
            printed, _ = process.communicate()
        except BaseException:
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=LAB_CLEANS_UP_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return process.returncode, printed
