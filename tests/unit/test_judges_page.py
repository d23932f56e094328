"""The page of promises, and the table of states that others write, say what the code does."""

from pathlib import Path

import pytest

from tests.guarantees_page import LIFE_CYCLE_PAGES, PAGE, page, with_life_cycle

HOW = "run: python -m tests.guarantees_page"


def test_the_page_of_guarantees_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), HOW


@pytest.mark.parametrize("file", LIFE_CYCLE_PAGES, ids=lambda file: file.name)
def test_the_table_of_states_and_moves_is_up_to_date(file: Path) -> None:
    assert file.read_text() == with_life_cycle(file.read_text()), HOW
