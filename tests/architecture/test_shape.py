"""The shape of the project, as its documents state it."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import scenarios.contract.system
import scenarios.simulated.system
import tasklab
from chaos.faults import FAULTS
from scenarios.contract.system import Pace, Policy, System
from scenarios.experiment.plan import plan
from scenarios.lookup import find_scenario, find_system, scenario_names, system_names

ROOT = Path(tasklab.__file__).parents[1]
PACKAGES = ("tasklab", "reference_impl", "chaos", "scenarios", "reports", "loadtests")
LINES_MAX = 400


def modules() -> list[Path]:
    return [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


def is_power(value: object) -> bool:
    """Whether it is a protocol that a plug-in may also have."""
    return isinstance(value, type) and (value.__doc__ or "").startswith("Power: ")


POWERS = [
    name
    for module in (scenarios.contract.system, scenarios.simulated.system)
    for name, it in vars(module).items()
    if is_power(it)
]


def test_nobody_imports_whom_he_may_not() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stdout


def modules_of_the_tests() -> list[Path]:
    return [file for folder in ("tests", "benchmarks") for file in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(ROOT)))
def test_a_module_says_what_it_is_for_and_fits_in_a_head(file: Path) -> None:
    text = file.read_text()

    assert ast.get_docstring(ast.parse(text)), "the first line says what the module is for"
    assert text.count("\n") <= LINES_MAX


def test_no_module_of_the_tests_is_longer_than_one_of_the_product() -> None:
    lines = {str(file.relative_to(ROOT)): file.read_text().count("\n") for file in modules_of_the_tests()}

    assert {file: count for file, count in lines.items() if count > LINES_MAX} == {}


def test_the_probe_needs_nothing_but_the_standard_library() -> None:
    tree = ast.parse((ROOT / "scenarios" / "contract" / "tasklab_probe.py").read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert {name.split(".")[0] for name in imported} <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_has_the_name_of_its_file_a_story_and_something_at_stake(name: str) -> None:
    scenario = find_scenario(name)

    assert scenario.name == name
    assert scenario.story
    assert scenario.strikes or scenario.workload.traits
    assert scenario.at_stake


@pytest.mark.parametrize("name", scenario_names())
def test_a_plan_depends_on_the_seed_and_on_nothing_else(name: str) -> None:
    scenario = find_scenario(name)

    plans = [plan(scenario, seed, policy=Policy(attempts_max=4), pace=Pace()) for seed in (1, 1, 2)]

    assert plans[0] == plans[1]
    assert plans[0] != plans[2]


@pytest.mark.parametrize("name", system_names())
def test_an_installed_system_has_the_form_of_the_protocol(name: str) -> None:
    system = find_system(name)

    assert isinstance(system, System)
    assert system.name == name
    assert system.claims


@pytest.mark.parametrize("name", tasklab.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(tasklab, name) is not None


def test_a_type_checker_sees_the_public_names_that_are_there() -> None:
    tree = ast.parse((ROOT / "tasklab" / "names.py").read_text())
    seen = {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}

    assert seen - {None} == set(tasklab.__all__) - {"__version__"}


@pytest.mark.parametrize("name", POWERS)
def test_every_power_is_public_and_in_the_table_of_powers(name: str) -> None:
    assert name in tasklab.__all__
    assert f"| `{name}` |" in (ROOT / "docs" / "writing_a_system.md").read_text()


def test_every_kind_of_test_is_explained_and_has_a_target() -> None:
    folders = {test.relative_to(ROOT / "tests").parts[0] for test in (ROOT / "tests").rglob("test_*.py")}
    explained = re.findall(r"^\| `(\w+)/` \|", (ROOT / "tests" / "README.md").read_text(), re.MULTILINE)
    targets = re.search(r"^KINDS = (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert targets
    assert folders | {"anomalies", "cases", "worlds"} == set(explained)
    assert {f"test-{folder.replace('_', '-')}" for folder in folders} == set(targets[1].split())


def catches_everything(node: ast.AST) -> bool:
    if not isinstance(node, ast.ExceptHandler):
        return False
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(one is None or ast.unparse(one) in ("Exception", "BaseException") for one in caught)


def sleeps(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep"


def reads_the_environment(node: ast.AST) -> bool:
    names = ("environ", "getenv")
    return isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node.value) == "os"


def is_data_that_changes(node: ast.AST) -> bool:
    if not isinstance(node, ast.ClassDef):
        return False
    said = [ast.unparse(one) for one in (*node.decorator_list, *node.bases, *node.keywords)]
    return any("dataclass" in one or "Struct" in one for one in said) and not any("frozen=True" in one for one in said)


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    """Every node of a module; read once for all tables of the page."""
    return tuple(ast.walk(ast.parse(file.read_text())))


@pytest.mark.parametrize(
    ("heading", "breaks"),
    [
        ("It catches everything", catches_everything),
        ("It sleeps or polls", sleeps),
        ("It reads the environment outside `settings.py`", reads_the_environment),
        ("Data that changes", is_data_that_changes),
    ],
)
def test_what_breaks_the_style_is_admitted_and_nothing_else_is(heading: str, breaks: Callable[[ast.AST], bool]) -> None:
    """Each module, and no module that has been mended."""
    pages = (ROOT / "docs" / "violations.md").read_text().split("\n## ")
    (section,) = (page for page in pages if page.startswith(f"{heading}\n"))
    found = {str(file.relative_to(ROOT)) for file in modules() if any(map(breaks, nodes_of(file)))}

    assert found == {path for path in re.findall(r"`([\w/]+\.py)`", section) if "/" in path}


def test_every_fault_says_what_the_peer_sees() -> None:
    assert all((kind.__doc__ or "").strip() for kind in FAULTS.values())


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "tests" / "README.md"]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text())]

    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


def test_the_command_line_starts_without_the_catalogue() -> None:
    """What a command imports is paid for by every other, and by --help."""
    program = (
        "import sys, tasklab.command_line; print(sorted(name for name in sys.modules if name.startswith('scenarios.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "scenarios.lookup" not in done.stdout
    assert "scenarios.catalogue" not in done.stdout
