"""docs/writing_a_system.md, followed to the letter in a directory of its own: its example, its commands, its two lines."""

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "writing_a_system.md").read_text()
EXAMPLES = "docs/examples"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def follow(console: str, place: Path) -> tuple[int, dict[str, str]]:
    """Run the commands of a block, look for the lines that it shows of their output; the exit code, and the verdicts by promise."""
    lines = console.splitlines()
    script = "\n".join(line.removeprefix("$ ") for line in lines if line.startswith("$ "))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=place, env=environment, capture_output=True, text=True, timeout=120
    )
    for line in lines:
        assert line.startswith("$ ") or line in done.stdout.splitlines(), (line, done.stdout, done.stderr)
    (verdicts,) = place.rglob("verdicts.json")
    judged = json.loads(verdicts.read_text())["verdicts"]
    shutil.rmtree(verdicts.parents[1])
    return done.returncode, {promise: verdict["verdict"] for promise, verdict in judged.items()}


def change(diff: str, file: Path) -> None:
    """Make the changes of a block: a line that comes takes the place of the line before it, or follows it where that one stays."""
    text = file.read_text()
    for before, after in pairwise(diff.splitlines(keepends=True)):
        if after.startswith("+"):
            assert text.count(before[1:]) == 1
            text = text.replace(before[1:], after[1:] if before.startswith("-") else before[1:] + after[1:])
    file.write_text(text)


def test_the_example_of_the_guide_breaks_the_promise_that_it_says_and_two_lines_keep_it(tmp_path: Path) -> None:
    shutil.copytree(ROOT / EXAMPLES, tmp_path / EXAMPLES, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    as_it_is, as_it_should_be = blocks("console")
    (diff,) = blocks("diff")

    before = follow(as_it_is, tmp_path)
    change(diff, tmp_path / EXAMPLES / "acme" / "queue.py")
    after = follow(as_it_should_be, tmp_path / EXAMPLES)

    held = dict.fromkeys(("no_stuck_task", "exactly_one_effect", "duplicates_explained"), "held")
    assert before == (1, {"no_lost_task": "broken", **held})
    assert after == (0, {"no_lost_task": "held", **held})
