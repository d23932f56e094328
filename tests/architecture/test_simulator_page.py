"""What docs/simulator.md says is shown elsewhere is shown there: every test and every scenario that it names exists."""

import ast
import re
from pathlib import Path

from scenarios.lookup import scenario_names

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "simulator.md").read_text()


def test_every_test_that_the_page_names_exists() -> None:
    named = _named_tests(PAGE)

    missing = [f"{file}::{test}" for file, test in named if test not in _tests_of(file)]

    assert missing == []
    assert len(named) > 15


def test_every_item_of_the_list_but_the_last_names_a_test_or_a_scenario() -> None:
    rows = [line for line in PAGE.split("## What the simulation cannot show")[1].splitlines() if line.startswith("| ")]

    silent = [row for row in rows[2:-1] if "::test_" not in row and not re.search("scenarios? `", row)]

    assert silent == []
    assert "| nothing:" in rows[-1]


def test_every_scenario_that_the_page_names_exists() -> None:
    named = {
        name for words in re.findall(r"scenarios? ((?:`\w+`(?:, )?)+)", PAGE) for name in re.findall(r"`(\w+)`", words)
    }

    assert named
    assert named <= set(scenario_names())


def _named_tests(page: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for file, test in re.findall(r"`([\w/.…]+)::(test_\w+)`", page):
        found.append((found[-1][0] if file == "…" else file, test))
    return found


def _tests_of(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
