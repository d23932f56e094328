"""The page on the requirements is true: every file that it names exists, and every tested requirement is named by a test."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from scenarios.judging.guarantees import Guarantee
from scenarios.lookup import scenario_names

ROOT = Path(__file__).parents[3]
NUMBERS = range(1, 33)
STATES = {"whole", "part", "not yet"}


@cache
def rows() -> dict[int, list[str]]:
    """Number, requirement, status, where, proven by, missing."""
    page = (ROOT / "docs" / "requirements.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in page if re.match(r"\| R\d+ ", line)]
    return {int(row[0][1:]): row for row in cells}


@cache
def named_in_docstrings() -> set[int]:
    """The requirements that tests say they prove."""
    named = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                said = ast.get_docstring(node) or ""
                named |= {int(number) for number in re.findall(r"\bR(\d+)\b", said)}
                for first, last in re.findall(r"\bR(\d+)–R(\d+)\b", said):
                    named |= set(range(int(first), int(last) + 1))
    return named


def test_every_requirement_has_its_row() -> None:
    assert list(rows()) == list(NUMBERS)
    assert all(len(row) == 6 for row in rows().values())


@pytest.mark.parametrize("number", NUMBERS)
def test_a_row_says_what_is_so(number: int) -> None:
    _, _, status, where, proven, missing = rows()[number]

    assert status in STATES
    assert (missing == "") == (status == "whole")
    assert (status == "not yet") == (where == "" and proven == "")
    for path in re.findall(r"`([^`]+)`", where):
        assert (ROOT / "reference_impl" / path).exists()
    for name in re.findall(r"`([^`]+)`", proven):
        assert name in {*scenario_names(), *Guarantee}
    for name in re.findall(r"services/(\w+)", proven):
        assert [*(ROOT / "tests" / "services").rglob(f"test_reference_{name}*.py")], name
    words = re.sub(r"`[^`]+`|\([^)]*\)|services/\w+", "", proven)
    for name in re.findall(r"[a-z_]+", words.split(";")[0]):
        assert name == "stateful" or (ROOT / f"tests/unit/reference/test_reference_{name}.py").exists(), name


@pytest.mark.parametrize("number", [number for number in NUMBERS if rows()[number][2] != "not yet"])
def test_what_is_called_proven_is_named_by_a_test(number: int) -> None:
    assert number in named_in_docstrings()
