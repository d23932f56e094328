"""The Celery app of docs/examples/celery_shop, without a file of the lab: `tasklab init`, then `tasklab run`, and no option."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.services, pytest.mark.slow]

SHOP = Path(__file__).parents[2] / "docs" / "examples" / "celery_shop"


def test_an_app_is_found_and_tested_without_an_option(third_party_python: Path, tmp_path: Path) -> None:
    shutil.copytree(SHOP / "shop", tmp_path / "shop")
    environment = {**os.environ, "VIRTUAL_ENV": str(third_party_python.parents[1])}

    def tasklab(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "tasklab", *arguments]
        return subprocess.run(line, cwd=place, env=environment, capture_output=True, text=True, timeout=120)

    written = tasklab(tmp_path, "init", "--json")
    (tmp_path / ".git").mkdir()
    done = tasklab(tmp_path / "shop", "run", "--seed", "1", "--json")  # below the directory of the file

    assert json.loads(written.stdout)["written"] == ["tasklab.toml", "tests/test_tasklab.py"]
    assert done.stdout, done.stderr
    (one,) = json.loads(done.stdout)["runs"]
    assert {name: said["verdict"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert [one["scenario"], one["system"], done.returncode] == ["worker_lost", "celery", 0]
