"""The pages name only what is there: paths, modules, commands with their options, targets of make."""

import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

import tasklab
from tasklab.command_line import app

ROOT = Path(tasklab.__file__).parents[1]
PACKAGES = ("tasklab", "reference_impl", "chaos", "scenarios", "reports", "loadtests")
PAGES = [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in ("runs", ".venv")}
PYTHON_FILES = {
    file.name for folder in (*PACKAGES, "tests", "benchmarks", "docs") for file in (ROOT / folder).rglob("*.py")
}
ELSEWHERE = {"tasklab/_lab", "run.json", "site-packages"}
"""Only in a wheel, or in a run."""
OF_THE_USER = {"acme", "tests/test_promises.py"}
"""In examples of a project of the reader."""


def code_of(page: Path) -> list[str]:
    """What stands in single backticks."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose)]


def is_path(code: str) -> bool:
    """Whether it names a file or a folder of the project; NAME and X stand for a name, … for anything."""
    placeholder = re.search(r"\b(NAME|X|TASK|ID)\b", code)
    if placeholder or code.startswith("./") or code in ELSEWHERE or not re.fullmatch(r"[\w./*-]+", code):
        return False
    first, _, rest = code.partition("/")
    return ((bool(rest) or code.endswith("/")) and first in FOLDERS) or code.endswith(".py")


def is_there(path: str) -> bool:
    """From the top, from the top of a package, or (a bare name) anywhere."""
    places = [ROOT, *(ROOT / package for package in PACKAGES)]
    found = any(place.joinpath(path).exists() or ("*" in path and any(place.glob(path))) for place in places)
    return found or path in PYTHON_FILES


def module_names(codes: list[str]) -> list[str]:
    """Dotted names that begin with a package of the lab."""
    dotted = rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+"
    return [code for code in codes if re.fullmatch(dotted, code) and code != "tasklab.toml"]


def is_importable(name: str) -> bool:
    """Whether it is a module, or an attribute of one, or of one of its classes."""
    module, rest = name, []
    while importlib.util.find_spec(module.partition(".")[0]) and not _is_module(module):
        module, _, last = module.rpartition(".")
        rest.insert(0, last)
    found: object = importlib.import_module(module)
    for attribute in rest:
        if not hasattr(found, attribute):
            return False
        found = getattr(found, attribute)
    return True


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def command_lines(page: Path, program: str) -> Iterator[str]:
    """What a page shows of this program, in blocks and in backticks, without comments."""
    text = page.read_text()
    shown = [re.sub(r"^\$ |^ {4}", "", line) for block in blocks(text) for line in block.splitlines()]
    shown += [line.strip() for line in text.splitlines() if line.startswith(f"    {program} ")]
    for line in [*code_of(page), *shown]:
        for part in re.split(r" && |; ", line.partition(" #")[0].strip()):
            if part.startswith(f"{program} "):
                yield part


def blocks(text: str) -> list[str]:
    return re.findall(r"^```(?:console|sh)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def flaw_of(line: str) -> str:
    """What is wrong with a command line of tasklab; nothing (""): it could be typed."""
    words = [word.strip("[]()`,.;:") for word in line.split()[1:]]
    if not words or words[0] == "…" or words[0].startswith("-"):
        return ""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group, as there are several
    if words[0] not in commands:
        return f"{line}: there is no command {words[0]!r}"
    options = {option for parameter in commands[words[0]].params for option in parameter.opts} | {"--help", "-h"}
    unknown = [word for word in words if word.startswith("--") and word.partition("=")[0] not in options]
    return f"{line}: there is no option {', '.join(unknown)}" if unknown else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_a_page_names_is_there(page: Path) -> None:
    paths = [code.split("::")[0] for code in code_of(page) if is_path(code.split("::")[0])]

    assert [path for path in paths if not is_there(path) and not path.startswith(tuple(OF_THE_USER))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_module_that_a_page_names_can_be_imported(page: Path) -> None:
    assert [name for name in module_names(code_of(page)) if not is_importable(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_shows_could_be_typed(page: Path) -> None:
    assert [flaw for line in command_lines(page, "tasklab") if (flaw := flaw_of(line))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_target_of_make_that_a_page_shows_is_one(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    targets |= {
        f"test-{kind}" for kind in re.findall(r"^KINDS = (.*)$", (ROOT / "Makefile").read_text(), re.M)[0].split()
    }

    assert [line for line in command_lines(page, "make") if line.split()[1] not in targets] == []


@pytest.mark.parametrize(
    ("line", "flaw"),
    [
        ("tasklab run broker_killed --system reference", ""),
        ("tasklab fly", "tasklab fly: there is no command 'fly'"),
        ("tasklab run a --wings 2", "tasklab run a --wings 2: there is no option --wings"),
    ],
)
def test_a_command_that_is_none_would_be_found(line: str, flaw: str) -> None:
    assert flaw_of(line) == flaw


def test_a_path_that_is_none_would_be_found() -> None:
    assert is_path("scenarios/runner.py")
    assert not is_there("scenarios/runner.py")
    assert not is_importable("scenarios.runner.run")
