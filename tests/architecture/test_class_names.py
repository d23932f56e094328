"""A public class name belongs to one module; docs/violations.md lists the exceptions, with the reason for each."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import tasklab

ROOT = Path(tasklab.__file__).parents[1]
PACKAGES = ("tasklab", "reference_impl", "chaos", "scenarios", "reports", "loadtests")
HEADING = "Class names in two modules"


def shared_names() -> dict[str, set[str]]:
    """Public classes that more than one module defines, with these modules."""
    defined: dict[str, set[str]] = defaultdict(set)
    for file in [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined[node.name].add(str(file.relative_to(ROOT)))
    return {name: files for name, files in defined.items() if len(files) > 1}


def explained_names() -> list[tuple[set[str], set[str]]]:
    """The rows of the page's table: classes, and the modules that define them. A third column holds the reason."""
    (section,) = (
        part for part in (ROOT / "docs/violations.md").read_text().split("\n## ") if part.startswith(f"{HEADING}\n")
    )
    rows = re.findall(r"^\| (`\w+`.*?) \| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    return [
        (set(re.findall(r"`(\w+)`", names)), set(re.findall(r"`([\w/]+\.py)`", modules))) for names, modules, _ in rows
    ]


def test_a_class_name_that_two_modules_define_is_explained_and_no_other_is() -> None:
    shared = shared_names()

    assert sorted(name for names, _ in explained_names() for name in names) == sorted(shared)


def test_a_row_of_the_table_names_the_modules_of_its_classes_and_no_others() -> None:
    shared = shared_names()

    for names, modules in explained_names():
        assert modules == set().union(*(shared[name] for name in names))
