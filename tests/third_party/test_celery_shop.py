"""The example docs/examples/celery_shop: its own pytest suite, in an environment that has pytest-tasklab and no tasklab."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, built_in, install, run

EXAMPLE = ROOT / "docs" / "examples" / "celery_shop"


@pytest.fixture(scope="session")
def shops_python(third_party_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    plugin = built_in(ROOT / ".ci" / "pytest-tasklab", tmp_path_factory.mktemp("plugin"))
    install(plugin, third_party_python.parents[1])
    return third_party_python


def test_what_the_example_installs_is_what_the_tests_have() -> None:
    pinned = (ROOT / "tests" / "third_party" / "requirements.txt").read_text().split()
    needed = (EXAMPLE / "requirements.txt").read_text().replace("[redis]", "").split()

    assert set(needed) <= set(pinned)


def test_the_app_alone_has_tests_that_need_no_lab(shops_python: Path, tmp_path: Path) -> None:
    done = run(shops_python, "-m", "pytest", "-m", "not tasklab", "-p", "no:cacheprovider", directory=EXAMPLE)

    assert "1 passed, 2 deselected" in done.stdout, done.stdout + done.stderr


@pytest.mark.services
@pytest.mark.slow
def test_the_shop_loses_no_charge_when_a_worker_dies(shops_python: Path, tmp_path: Path) -> None:
    lab = Path(sys.executable).with_name("tasklab")
    pytest_ = [shops_python, "-m", "pytest", "-p", "no:cacheprovider", "-k", "worker_lost", "--tasklab-out", tmp_path]

    done = subprocess.run(
        pytest_, cwd=EXAMPLE, env={**os.environ, "TASKLAB": str(lab)}, capture_output=True, text=True, check=False
    )

    assert "1 passed" in done.stdout, done.stdout + done.stderr
