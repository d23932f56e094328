"""A wheel: nothing generic in a user's site-packages, and no clash with the user's own names."""

import ast
import re
import zipfile
from pathlib import Path

from tests.packaging.conftest import ROOT, RUN, USERS_PACKAGES, packages_of, run, with_traps


def test_a_wheel_installs_tasklab_alone(bin_directory: Path) -> None:
    installed = {entry.name for entry in packages_of(bin_directory).iterdir()} - {"dependencies.pth"}

    assert installed == {"tasklab", "tasklab-0.1.0.dist-info"}


def test_a_wheel_holds_each_file_of_the_lab_and_no_import_by_its_old_name(wheel: Path) -> None:
    packages = ("reference_impl", "chaos", "scenarios", "reports", "loadtests")
    files = [file for package in packages for file in (ROOT / package).rglob("*") if file.is_file()]
    expected = {f"tasklab/_lab/{file.relative_to(ROOT)}" for file in files if "__pycache__" not in file.parts}

    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("tasklab/_lab/")}
        sources = [archive.read(name).decode() for name in held if name.endswith(".py")]

    assert held == expected | {"tasklab/_lab/__init__.py"}
    beginnings = tuple(f"{word} {package}" for word in ("from", "import") for package in packages)
    assert [line for source in sources for line in source.splitlines() if line.lstrip().startswith(beginnings)] == []


NAMES_THAT_TOKENS_HOLD = {"tasklab/_lab/scenarios/lookup.py", "tasklab/pytest_plugin.py"}
"""They translate the addresses of systems in tokens, and of the suite before."""


def test_no_string_in_a_wheel_names_a_module_as_a_clone_does(wheel: Path) -> None:
    address = re.compile(r"(scenarios|chaos|reference_impl|reports|loadtests)(\.[a-z_0-9]+)+(:\w*)?")
    with zipfile.ZipFile(wheel) as archive:
        sources = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".py")}

    found = {
        name: node.value
        for name, source in sources.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and address.fullmatch(node.value)
    }

    assert set(found) == NAMES_THAT_TOKENS_HOLD, found


def test_the_guides_example_runs_beside_packages_of_the_labs_names(bin_directory: Path, project: Path) -> None:
    done = run(bin_directory / "tasklab", *RUN, directory=project)

    assert "verdict: 1 of 4 claimed promises broken: no_lost_task" in done.stdout, done.stderr
    assert done.returncode == 1


def test_a_users_modules_hide_none_of_pythons(bin_directory: Path, project: Path) -> None:
    trapped = with_traps(project)
    load = ("load", "--rate=20", "--duration=2", "--environment=embedded", "--seed=7")

    version = run(bin_directory / "python", "-m", "tasklab", "--version", directory=trapped)
    simulated = run(bin_directory / "tasklab", "simulate", "swarm", "--seeds=1..4", "--jobs=2", directory=trapped)
    loaded = run(bin_directory / "tasklab", *load, directory=trapped)
    (judged,) = trapped.glob("runs/*/*")
    checked = run(bin_directory / "tasklab", "check", judged, directory=trapped)

    ends = {done.returncode: done.stderr for done in (version, simulated, loaded, checked)}
    assert set(ends) == {0}, ends


def test_a_users_tests_import_the_users_modules_and_run_the_lab(bin_directory: Path, project: Path) -> None:
    imports = f"import {', '.join(USERS_PACKAGES)}\nfrom acme.lab import system\nassert scenarios.OWNER == 'user'\n"
    (project / "mine.py").write_text(imports)
    (project / "test_mine.py").write_text(
        f"{imports}\n\n"
        "def test_mine(tasklab_run):\n"
        "    tasklab_run('worker_killed_after_effect', system='mine:system', environment='embedded')\n"
    )

    done = run(bin_directory / "python", "-m", "pytest", "-p", "no:locust", directory=project)

    assert re.search("no_lost_task +broken", done.stdout), done.stdout + done.stderr
    assert done.returncode == 1


def test_the_suite_of_all_scenarios_has_an_address_below_tasklab(bin_directory: Path, project: Path) -> None:
    suite = ["--pyargs", "tasklab.suite", "--environment=simulated", "--seeds=1..2", "-k", "worker_killed"]

    done = run(bin_directory / "python", "-m", "pytest", "-p", "no:locust", *suite, directory=project)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_an_installation_without_a_clone_names_no_command_of_the_makefile(
    wheel: Path, bin_directory: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        told = [name for name in archive.namelist() if name.endswith(".py") and b"make services" in archive.read(name)]

    done = run(bin_directory / "tasklab", "services", "install", "--dry-run", directory=tmp_path)

    assert told == []
    assert done.returncode == 0, done.stderr
    assert "nothing is missing" in done.stdout or "missing: " in done.stdout


def test_a_token_that_names_a_mutant_by_its_module_leads_to_it(bin_directory: Path, project: Path) -> None:
    token = "swarm~scenarios.systems.mutants.key_per_attempt:system~2"

    done = run(bin_directory / "tasklab", "replay", token, directory=project)

    assert "swarm × key_per_attempt, seed 2" in done.stdout, done.stderr


def test_a_type_checker_finds_nothing_wrong_with_acme_and_sees_the_types_of_the_lab(
    bin_directory: Path, project: Path
) -> None:
    (project / "wrong.py").write_text("import tasklab\n\nanswer: int = tasklab.Outcome('ok').kind\n")
    strict = ["-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", project.parent / "cache"]

    done = run(bin_directory / "python", *strict, "acme", "wrong.py", directory=project)

    (error,) = done.stdout.splitlines()
    assert error.startswith("wrong.py:3: error: Incompatible types in assignment")
