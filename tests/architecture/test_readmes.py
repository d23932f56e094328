"""The README in Chinese states the facts of the English one: its figures, commands, names and links, section by section."""

import re
from pathlib import Path

import pytest

import tasklab

ROOT = Path(tasklab.__file__).parents[1]
ENGLISH, CHINESE = ((ROOT / name).read_text() for name in ("README.md", "README.zh-CN.md"))
UNITS = r"(?: (?:min|ms|s|tasks/s)(?![A-Za-z/]))?"


def sections(text: str) -> list[str]:
    return re.split(r"^## .*$", text, flags=re.MULTILINE)


def commands(text: str) -> list[str]:
    """The lines of the console blocks, without their comments."""
    found = re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [line.partition(" #")[0].rstrip() for block in found for line in block.splitlines()]


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def names(text: str) -> list[str]:
    """What stands in backticks."""
    return sorted(re.findall(r"`([^`]+)`", prose(text)))


def links(text: str) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    return sorted(target for target in found if not target.startswith("README"))


def figures(text: str) -> list[str]:
    """Numbers, each with its unit; of a link only its words count, of code nothing."""
    words = re.sub(r"\]\([^)]*\)|`[^`]*`", "", prose(text))
    return sorted(re.findall(rf"\d[\d,.^-]*\d{UNITS}|\d{UNITS}", words))


def rows(text: str) -> list[int]:
    """How many cells each row of each table has."""
    return [line.count("|") for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("of", [commands, names, links, figures, rows], ids=lambda of: of.__name__)
def test_both_readmes_state_the_same(of: object) -> None:
    assert callable(of)
    assert [of(section) for section in sections(CHINESE)] == [of(section) for section in sections(ENGLISH)]


def test_each_leads_to_the_other() -> None:
    assert "](README.zh-CN.md)" in ENGLISH
    assert "](README.md)" in CHINESE


def test_another_figure_would_be_found() -> None:
    assert figures("It takes 2 min 53 s, or 0.98 s; 10^6 events.") == ["0.98 s", "10^6", "2 min", "53 s"]
