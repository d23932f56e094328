"""A headless Chromium to open reports in; where there is none, a skip on a laptop and a failure in CI."""

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)


def _program(*names: str) -> str:
    """The first of these programs that is installed; without one there is no test."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    missing = f"no {names[0]} found: apt-get install chromium chromium-driver (make services does)"
    if "CI" in os.environ:
        pytest.fail(missing)
    pytest.skip(missing)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Chrome"]:
    """One browser for all tests, with a profile of its own; it logs its console and every request of a page."""
    browser = _program("chromium", "chromium-browser", "google-chrome")
    driver = _program("chromedriver")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with Chrome(options=options, service=Service(driver)) as chrome:
        chrome.set_script_timeout(20)
        yield chrome
