"""A virtual environment with the libraries of the systems of this folder, made once a session."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

PLACE = Path(__file__).parent
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
