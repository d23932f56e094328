"""One wheel a session, built and installed into an environment of its own; and a project of a user with names such as the lab's."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USERS_PACKAGES = ("reports", "scenarios", "chaos", "tests", "loadtests", "reference_impl")
USERS_MODULES = ("queue", "secrets", "signal", "traceback", "typing", "dataclasses")
"""Names of the standard library: a process that imports one of these files is ended by it."""
RUN = ("run", "worker_killed_after_effect", "--system", "acme.lab:system", "--environment", "embedded", "--seed", "7")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from this working tree, without any network."""
    if importlib.util.find_spec("hatchling") is None:
        why = "hatchling is not installed; `make test` brings it"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return built_in(ROOT, tmp_path_factory.mktemp("wheel"))


def built_in(source: Path, place: Path) -> Path:
    """The wheel of the distribution whose pyproject.toml is in `source`."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place], cwd=source, check=True)
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def bin_directory(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the wheel and can import its dependencies, but not this working tree."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False, symlinks=True)
    install(wheel, place)
    # Directories that a .pth file names are searched, but .pth files in them are not read: an editable install stays unseen.
    dependencies = [entry for entry in sys.path if entry.endswith("site-packages")]
    (packages_of(place / "bin") / "dependencies.pth").write_text("\n".join(dependencies))
    return place / "bin"


def install(wheel: Path, environment: Path) -> None:
    """Without what the wheel depends on."""
    pip = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--disable-pip-version-check", wheel], check=True)


def packages_of(bin_directory: Path) -> Path:
    """The site-packages of an environment."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(bin_directory.parent)}))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project: Acme, beside packages that are called as the lab's are, and modules called as those of Python."""
    shutil.copytree(ROOT / "docs" / "examples" / "acme", tmp_path / "src" / "acme")
    for package in USERS_PACKAGES:
        (tmp_path / "src" / package).mkdir()
        (tmp_path / "src" / package / "__init__.py").write_text('OWNER = "user"\n')
    return tmp_path / "src"


def with_traps(project: Path) -> Path:
    """Beside the project's packages, so that only the lab could import them: Acme's own processes start elsewhere."""
    trapped = project.parent / "trapped"
    trapped.mkdir()
    for module in USERS_MODULES:
        (trapped / f"{module}.py").write_text(f'raise SystemExit("{module} of the user was executed")\n')
    return trapped


def run(*command: str | Path, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120, check=False)
