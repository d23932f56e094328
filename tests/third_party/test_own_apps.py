"""The lab's own app of each library can be read, recommended and by default, and the two differ."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scenarios.adapters.adapted import LIBRARIES


def facts_of(name: str, python: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tasklab", "facts", "--system", name, "--python", str(python), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_both_apps_of_a_library_can_be_read_in_a_version_that_was_tried(third_party_python: Path, library: str) -> None:
    recommended, defaults = (facts_of(name, third_party_python) for name in (library, f"{library}@defaults"))

    assert (recommended["system"], recommended["untried"]) == (library, "")
    assert recommended["facts"] != defaults["facts"]
