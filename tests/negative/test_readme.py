"""The table of classes names tests that exist, and no class of wrong verdicts is without one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (Path(__file__).parent / "README.md").read_text()
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)
CLASSES = [*(f"F{number}" for number in range(1, 9)), *(f"G{number}" for number in range(1, 13))]


@pytest.mark.parametrize(("file", "test"), sorted(set(NAMED)))
def test_every_test_that_the_table_names_exists(file: str, test: str) -> None:
    assert re.search(rf"^def {test}\(", (ROOT / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_a_row_with_a_test(name: str) -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| {name}: ")]

    assert rows
    assert all("::test_" in row for row in rows)


def test_every_small_system_that_the_table_names_is_tested_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::test_\w+` \(([^)]+)\)", PAGE)
    cases = {(file, case) for file, listed in named for case in re.findall(r"`(\w+)`", listed)}

    assert cases
    assert sorted((file, case) for file, case in cases if f'"{case}"' not in (ROOT / file).read_text()) == []
