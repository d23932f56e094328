"""The libraries of the systems of this folder, of Python and of Node, installed once a session."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

PLACE = Path(__file__).parent
BULLMQ = PLACE.parents[1] / "docs" / "examples" / "bullmq"
INSTALL_TIMEOUT_S = 300


@pytest.fixture(scope="session")
def third_party_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of that environment. Where the libraries cannot be installed the tests are skipped; in CI they fail."""
    place = tmp_path_factory.mktemp("third_party")
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--retries",
        "1",
    ]
    done = subprocess.run(
        [*install, "--requirement", PLACE / "requirements.txt"],
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_S,
    )
    if done.returncode != 0:
        why = f"tests/third_party/requirements.txt cannot be installed: {done.stderr.strip()[-300:]}"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return python


@pytest.fixture(scope="session")
def bullmq(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """docs/examples/bullmq with its packages installed. Skipped where node or npm are missing, or the packages cannot be installed."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    place = tmp_path_factory.mktemp("third_party") / "bullmq"
    shutil.copytree(BULLMQ, place, ignore=shutil.ignore_patterns("node_modules", "runs"))
    install = [
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--no-package-lock",
        "--fetch-retries=1",
    ]
    done = subprocess.run(install, cwd=place, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S)
    if done.returncode != 0:
        pytest.skip(f"the packages of docs/examples/bullmq cannot be installed: {done.stderr.strip()[-300:]}")
    return place
