"""Locust's page during a load: pressing start begins it, and the lab's tab tells what becomes of the tasks while it runs."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from chaos.ports import PortAllocator, is_refused
from tests.load_process import Lab, left_of

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.browser

PLANNED = 80
WAIT_S = 60.0
ROWS = """return [...document.querySelectorAll("tbody tr")].map(
    row => [...row.querySelectorAll("td")].map(cell => cell.textContent))"""


@pytest.fixture
def port() -> Iterator[int]:
    with closing(PortAllocator()) as ports:
        yield ports.allocate()


def lab_with_page(place: Path, port: int, *more: str) -> Lab:
    lab = Lab(
        place,
        *("--rate", "10", "--duration", "8", "--environment", "embedded", "--seed", "3"),
        *("--fault", "worker_killed_after_effect", "--web", "--web-port", str(port), *more),
    )
    lab.await_that(lambda: not is_refused("127.0.0.1", port))
    return lab


def figures(chromium: "Chrome") -> Mapping[str, str]:
    """The rows of the table on the page: its first two columns."""
    return {row[0]: row[1] for row in chromium.execute_script(ROWS) if len(row) == 3}


def submitted(chromium: "Chrome") -> int:
    return int(figures(chromium).get("Submitted", "0 of 0").split(" of ")[0])


def test_start_begins_the_load_and_the_tab_follows_it_to_its_end(chromium: "Chrome", tmp_path: Path, port: int) -> None:
    lab = lab_with_page(tmp_path, port)
    wait = WebDriverWait(chromium, WAIT_S, poll_frequency=0.1)

    chromium.get(f"http://127.0.0.1:{port}/?tab=reliability")
    wait.until(lambda _: chromium.find_elements(By.CSS_SELECTOR, "button[type=submit]"))[0].click()
    wait.until(lambda _: submitted(chromium) > 0)
    on_the_way = figures(chromium)
    wait.until(lambda _: figures(chromium).get("Figures") == "final")
    at_the_end = figures(chromium)

    assert on_the_way["Figures"] == "so far"
    assert on_the_way["Submitted"].endswith(f" of {PLANNED}")
    assert at_the_end["Submitted"] == f"{PLANNED} of {PLANNED}"
    assert at_the_end["Faults"] == "process_killed on embedded: healed"
    assert int(at_the_end["Acknowledged"]) + int(at_the_end["Refused"]) + int(at_the_end["Unknown"]) == PLANNED
    assert at_the_end["Done"] == at_the_end["Effects"]
    assert (at_the_end["Losses so far"], at_the_end["Duplicates"], at_the_end["Dead letters"]) == ("0", "0", "0")
    assert next(iter(at_the_end)) == "Submitted"  # the most urgent first, not by the alphabet
    assert lab.end().exit_code == 0
    assert left_of(tmp_path) == []


def test_with_autostart_nobody_has_to_press_anything(tmp_path: Path, port: int) -> None:
    lab = lab_with_page(tmp_path, port, "--autostart")

    ended = lab.end()

    assert ended.exit_code == 0, ended.stderr
    assert ended.load["sent"] == PLANNED
    assert f"http://127.0.0.1:{port}/?tab=reliability" in ended.stderr


def test_stop_on_the_page_ends_the_load_and_the_run_says_that_it_was_not_the_one_asked_for(
    chromium: "Chrome", tmp_path: Path, port: int
) -> None:
    lab = lab_with_page(tmp_path, port, "--autostart")
    wait = WebDriverWait(chromium, WAIT_S, poll_frequency=0.1)

    chromium.get(f"http://127.0.0.1:{port}/?tab=reliability")
    stop = "//button[translate(normalize-space(), 'STOP', 'stop')='stop']"
    wait.until(lambda _: chromium.find_elements(By.XPATH, stop))[0].click()
    ended = lab.end()

    assert ended.exit_code == 3
    assert any(problem.startswith("the load was not as planned: ") for problem in ended.said["problems"])
    assert ended.load["sent"] < PLANNED
