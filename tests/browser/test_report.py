"""What a person sees who opens a report: in a real browser, from real files."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from reports.build import write_report
from tests import sample_runs

pytestmark = pytest.mark.browser

COLOURS_DRAWN = """
const canvas = arguments[0];
const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
return new Set(pixels).size;
"""


class Page:
    """A report, open in the browser."""

    def __init__(self, chrome: Chrome, file: Path) -> None:
        self.chrome = chrome
        self.file = file

    def open(self, fragment: str = "") -> "Page":
        self.chrome.get("about:blank")
        self.chrome.get_log("browser")
        self.chrome.get_log("performance")
        self.chrome.get(self.file.as_uri() + fragment)
        return self

    def all(self, selector: str) -> list[WebElement]:
        return self.chrome.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return self.one(selector).text

    def wait(self, condition: Callable[[], object]) -> None:
        WebDriverWait(self.chrome, 20).until(lambda _: condition())

    def scroll_to(self, selector: str) -> None:
        self.chrome.execute_script("document.querySelector(arguments[0]).scrollIntoView()", selector)

    def requests(self) -> list[str]:
        """Every address the page asked for since it was opened."""
        messages = (json.loads(entry["message"])["message"] for entry in self.chrome.get_log("performance"))
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """What the console said: errors of scripts, refusals of the content security policy."""
        return [entry["message"] for entry in self.chrome.get_log("browser")]


@pytest.fixture
def page(chromium: Chrome, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    def make(*runs: Path, fragment: str = "") -> Page:
        return Page(chromium, write_report(runs, tmp_path / "page.html")).open(fragment)

    yield make
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_the_first_thing_to_read_is_the_verdict(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.broken(tmp_path / "run"))

    assert opened.text(".banner .word") == "BROKEN"
    assert opened.text("h1").startswith(
        "naive violated 2 of the 5 guarantees it claims, under broker_killed: no_lost_task"
    )
    assert [chip.text for chip in opened.all(".verdicts tbody tr .chip")][:5] == [
        "broken",
        "broken",
        "held",
        "held",
        "held (not exercised)",
    ]


def test_unknown_does_not_look_green(page: Callable[..., Page], tmp_path: Path) -> None:
    def edge_of(run: Path) -> str:
        return page(run).one(".banner").value_of_css_property("border-left-color")

    edges = [
        edge_of(make(tmp_path / make.__name__))
        for make in (sample_runs.held, sample_runs.broken, sample_runs.undecided, sample_runs.unfinished)
    ]

    assert edges == [
        "rgba(26, 106, 60, 1)",
        "rgba(180, 35, 24, 1)",
        "rgba(201, 138, 27, 1)",
        "rgba(201, 138, 27, 1)",
    ]


def test_the_page_asks_for_nothing_and_complains_of_nothing(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.broken(tmp_path / "run"))
    opened.scroll_to(".charts")
    opened.wait(lambda: len(opened.all(".charts canvas")) == 5)

    asked = [url for url in opened.requests() if not url.startswith("data:")]
    assert asked == [opened.file.as_uri()]
    assert opened.complaints() == []


def test_the_policy_stops_what_the_page_would_never_do(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.held(tmp_path / "run"))

    refused = opened.chrome.execute_async_script(
        """
        const done = arguments[arguments.length - 1], refused = [];
        document.addEventListener("securitypolicyviolation", (event) => {
          refused.push(event.effectiveDirective);
          if (refused.length === 3) done(refused.sort());
        });
        fetch("http://127.0.0.1:9/").catch(() => {});
        document.body.append(Object.assign(document.createElement("script"), {textContent: "window.pwned = 1"}));
        document.body.append(Object.assign(document.createElement("img"), {src: "http://127.0.0.1:9/x.png"}));
        """
    )

    assert refused == ["connect-src", "img-src", "script-src-elem"]
    assert opened.chrome.execute_script("return window.pwned") is None


def test_every_chart_is_drawn(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.held(tmp_path / "run"))
    opened.scroll_to(".charts")
    opened.wait(lambda: len(opened.all(".charts canvas")) == 5)

    colours = [opened.chrome.execute_script(COLOURS_DRAWN, canvas) for canvas in opened.all(".charts canvas")]

    # An empty plot has one colour; each of these has at least its shading, its lines and the steps between them.
    assert min(colours) > 8, colours


def test_nothing_moves_when_the_charts_are_drawn(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.held(tmp_path / "run"))
    assert opened.all(".charts canvas") == []
    before = opened.one(".run-body").size["height"]

    opened.scroll_to(".charts")

    opened.wait(lambda: len(opened.all(".charts canvas")) == 5)
    assert opened.one(".run-body").size["height"] == before


def test_the_figures_behind_the_charts_are_there_as_a_table(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.undecided(tmp_path / "run"))
    opened.scroll_to(".charts")
    opened.wait(lambda: len(opened.all(".charts canvas")) == 5)

    opened.one(".numbers summary").click()

    opened.wait(lambda: opened.all(".numbers tbody tr"))
    rows = [row.text for row in opened.all(".numbers tbody tr")]
    assert len(rows) == 53
    assert rows[2].split() == ["0.4", "s", "10", "10", "0", "10", "10", "0", "0", "0"]


def test_pointing_at_a_dot_names_its_task(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.undecided(tmp_path / "run"))
    opened.scroll_to("[data-plot=latency]")
    opened.wait(lambda: opened.all("[data-plot=latency] .u-over"))

    plot = opened.one("[data-plot=latency] .u-over")
    from_the_middle = plot.size["width"] // 20 - plot.size["width"] // 2
    ActionChains(opened.chrome).move_to_element_with_offset(plot, from_the_middle, 0).perform()

    opened.wait(lambda: re.search(r"\d+ ms, task-000\d", opened.text("[data-plot=latency] .u-legend")))


def test_copy_puts_the_command_into_the_clipboard(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.broken(tmp_path / "run"))

    opened.one(".copy").click()

    opened.wait(lambda: opened.text(".copy") == "Copied")
    opened.chrome.execute_script("document.body.prepend(document.createElement('textarea'))")
    field = opened.one("textarea")
    field.send_keys(Keys.CONTROL, "v")
    assert field.get_property("value") == "tasklab run broker_killed --system naive --environment local --seed 7"


def test_without_a_clipboard_the_command_is_copied_the_old_way(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.held(tmp_path / "run"))
    opened.chrome.execute_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")

    opened.one(".copy").click()

    opened.wait(lambda: opened.text(".copy") == "Copied")
    opened.chrome.execute_script("document.body.prepend(document.createElement('textarea'))")
    field = opened.one("textarea")
    field.send_keys(Keys.CONTROL, "v")
    assert field.get_property("value") == "tasklab run broker_killed --system reference --environment local --seed 7"


def test_a_witness_leads_to_its_journey(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.broken(tmp_path / "run"))
    witness = next(link for link in opened.all(".verdicts a.task") if link.text == "task-0093")
    journey = opened.one(str(witness.get_attribute("href")).rpartition("/")[2].partition("page.html")[2])
    assert not journey.is_displayed()

    witness.send_keys(Keys.ENTER)

    opened.wait(journey.is_displayed)
    assert opened.chrome.switch_to.active_element == journey
    told = [row.text.replace("\n", " ") for row in journey.find_elements(By.CSS_SELECTOR, "tbody tr")]
    assert told[2:6] == [
        "+0.000 s A client submits the task",
        "+0.003 s A database the task's row becomes ACCEPTED",
        "+0.005 s A client is told that the task is accepted",
        "A 2.41 s without any event of it",
    ]
    assert "Stuck: accepted, and not ended; no event of it for" in told[-1]


def test_a_link_into_a_closed_run_opens_it(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.held(tmp_path / "a"), sample_runs.broken(tmp_path / "b"))
    assert [cell.text.replace("\n", " ") for cell in opened.all(".matrix .cell")] == [
        "held",
        "broken no_lost_task, no_stuck_task",
    ]
    assert not opened.one("#run2 .banner").is_displayed()

    opened.one(".matrix .cell.broken").click()

    opened.wait(opened.one("#run2 .banner").is_displayed)
    assert not opened.one("#run1 .banner").is_displayed()
    opened.scroll_to("#run2 .charts")
    opened.wait(lambda: len(opened.all("#run2 .charts canvas")) == 5)


def test_an_address_with_a_fragment_opens_at_the_journey(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.held(tmp_path / "a"), sample_runs.broken(tmp_path / "b"), fragment="#run2-journey3")

    opened.wait(opened.one("#run2-journey3").is_displayed)


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("make", [sample_runs.broken, sample_runs.hostile, sample_runs.unfinished])
def test_the_page_is_never_wider_than_the_window(
    page: Callable[..., Page], tmp_path: Path, width: int, make: Callable[[Path], Path]
) -> None:
    opened = page(make(tmp_path / "run"))
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}

    opened.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    opened.scroll_to(".charts")
    opened.wait(lambda: all(canvas.size["width"] <= width for canvas in opened.all(".charts canvas")))
    overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.chrome.execute_script(overflow) == 0


def test_nothing_planted_in_a_run_runs(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.hostile(tmp_path / "a"), sample_runs.hostile(tmp_path / "b"))
    opened.chrome.execute_script("for (const box of document.querySelectorAll('details')) box.open = true")
    opened.scroll_to("#run1 .charts")
    opened.wait(lambda: len(opened.all("#run1 .charts canvas")) == 5)
    opened.wait(lambda: opened.all("#run1 .numbers tbody tr"))
    for link in opened.all("#run1 a.task"):
        opened.chrome.execute_script("arguments[0].click()", link)

    assert opened.chrome.execute_script("return window.pwned") is None
    assert opened.all("main img, main script, main iframe") == []
    assert opened.complaints() == []
    asked = [url.partition("#")[0] for url in opened.requests() if not url.startswith("data:")]
    assert asked == [opened.file.as_uri()]
    # And it is shown as what it is. (Selenium folds white space; U+2028 and U+202E are spelt out.)
    assert opened.text("#run1 .story").startswith("</script><script>window.pwned = 1</script><img src=x onerror=")


def test_dark_is_dark_and_redraws_the_charts(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.held(tmp_path / "run"))
    opened.scroll_to(".charts")
    opened.wait(lambda: len(opened.all(".charts canvas")) == 5)
    light = opened.one("[data-plot=open] canvas")

    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    opened.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)

    assert opened.one("body").value_of_css_property("background-color") == "rgba(20, 23, 26, 1)"
    opened.wait(lambda: opened.one("[data-plot=open] canvas") != light)


def test_paper_gets_light_colours_and_open_first_journeys_and_the_screen_gets_its_own_back(
    page: Callable[..., Page], tmp_path: Path
) -> None:
    opened = page(sample_runs.broken(tmp_path / "run"))
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    opened.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    journeys = opened.all(".run-body > details.journey")

    opened.chrome.execute_script("dispatchEvent(new Event('beforeprint'))")
    printed = [journey.get_attribute("open") for journey in journeys]
    paper = opened.chrome.execute_script("return getComputedStyle(document.documentElement).getPropertyValue('--page')")
    opened.chrome.execute_script("dispatchEvent(new Event('afterprint'))")

    assert printed == ["true"] * 6
    assert paper == "#ffffff"
    assert [journey.get_attribute("open") for journey in journeys] == ["true"] + [None] * (len(journeys) - 1)


def test_a_history_of_a_hundred_thousand_events_opens(page: Callable[..., Page], tmp_path: Path) -> None:
    opened = page(sample_runs.large(tmp_path / "run"))

    opened.scroll_to(".charts")

    opened.wait(lambda: len(opened.all(".charts canvas")) == 5)
    assert "20,000 tasks" in opened.text(".charts")
    assert opened.complaints() == []
