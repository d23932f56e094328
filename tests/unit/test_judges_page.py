"""The page of promises says what the code does."""

from tests.guarantees_page import PAGE, page


def test_the_page_of_guarantees_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python -m tests.guarantees_page"
