"""`tasklab conform` names what a system does wrong before any fault, and finds nothing to mend in an honest one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.negative.test_what_must_not_pass import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "docs" / "examples"
TIMEOUT_S = 150


def conform(place: Path, *options: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit code, and by word its mark and what was seen."""
    command = [
        sys.executable,
        "-m",
        "tasklab",
        "conform",
        *options,
        "--environment",
        "embedded",
        "--out",
        str(place),
        "--json",
    ]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{EXAMPLES}"}
    done = subprocess.run(
        command, cwd=EXAMPLES / "plain", env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    assert document["exit_code"] == done.returncode
    return done.returncode, {one["word"]: (one["mark"], one["said"]) for one in document["findings"]}


def wrong_of(words: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {word: said for word, (mark, said) in words.items() if mark not in ("ok", "note", "skipped")}


@pytest.mark.parametrize("system", ["./client.py", "acme.lab:system", "office.lab:system", "reference"])
def test_in_the_examples_there_is_nothing_to_mend(system: str, tmp_path: Path) -> None:
    code, words = conform(tmp_path, "--system", system)

    assert wrong_of(words) == {}
    assert code == 0


@pytest.mark.parametrize(
    ("system", "word", "said"),
    [
        ("tells_too_soon", "a task at work", "while a worker has it in hand, its status is SUCCEEDED"),
        ("forges_effects", "record", "holds events that it cannot know: effect"),
        ("ends_by_itself", "stays up", "its last line: unrecoverable error: the pool is gone"),
        ("forgets_children", "children", "had no effect within"),
    ],
)
def test_a_liar_is_found_by_the_word_that_it_lies_with(system: str, word: str, said: str, tmp_path: Path) -> None:
    code, words = conform(tmp_path, "--system", f"tests.negative.small_systems:{system}")

    assert words[word][0] == "mend"
    assert said in words[word][1]
    assert code == 1


def test_a_worker_that_does_not_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "plain", tmp_path / "plain")
    (tmp_path / "plain" / "worker.py").write_text("raise SystemExit('no directory is configured')")

    code, words = conform(tmp_path, "--system", str(tmp_path / "plain" / "client.py"))

    mark, said = words["run"]
    assert (mark, code) == ("mend", 1)
    assert "worker-1: ended at start with exit code 1" in said
    assert "no directory is configured" in said


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--system", "./nothing.js"), "./nothing.js is not a program that can be started"),
        (("--system", "refrence"), "did you mean reference"),
        (("--system", "reference", "--lines-only"), "--lines-only is for a program that speaks the protocol itself"),
    ],
)
def test_wrong_usage_is_no_finding(options: tuple[str, ...], why: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tasklab", "conform", *options, "--out", str(tmp_path)]
    done = subprocess.run(
        command, cwd=EXAMPLES / "plain", capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )

    assert done.returncode == 2
    assert why in done.stderr
