"""No import circle in the reference or the systems, also counting imports for type checking and inside functions."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tasklab

ROOT = Path(tasklab.__file__).parents[1]


def modules() -> dict[str, Path]:
    """Every module of the lab by its name."""
    files = [
        file
        for package in ("tasklab", "reference_impl", "chaos", "scenarios", "reports", "loadtests")
        for file in sorted((ROOT / package).rglob("*.py"))
    ]
    return {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def imports(file: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else node.module


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Some circle of the graph, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


@pytest.mark.parametrize("package", ["reference_impl", "scenarios.systems", "scenarios"])
def test_no_module_imports_itself_by_way_of_others(package: str) -> None:
    known = modules()
    own = [name for name in known if name == package or name.startswith(f"{package}.")]

    graph = {name: set(imports(known[name], known)) & set(own) - {name} for name in own}

    assert circle(graph) == []


def test_a_circle_would_be_found() -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_the_ports_import_nothing_of_the_reference() -> None:
    known = modules()

    assert [name for name in imports(known["reference_impl.ports"], known) if name.startswith("reference_impl")] == []


def test_only_the_commands_and_the_systems_themselves_import_a_system() -> None:
    known = modules()
    importers = {
        name
        for name, file in known.items()
        if name.startswith("scenarios.") and any(one.startswith("scenarios.systems") for one in imports(file, known))
    }

    assert {name for name in importers if not name.startswith("scenarios.systems.")} == set()
