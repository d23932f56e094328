"""A plug-in that ends the lab's process, at whatever moment: exit code 0 is given only by a verdict, and so is 1."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
MEMBER = """from acme.lab import Acme


class Mine(Acme):
    def {member}(self, *_):
        raise SystemExit(0)


system = Mine()
"""


@pytest.mark.parametrize("member", [None, "embedded_processes", "client", "account", "trail"])
def test_no_end_of_a_plug_in_is_a_verdict(member: str | None, tmp_path: Path) -> None:
    (tmp_path / "acme").symlink_to(EXAMPLES / "acme")
    (tmp_path / "mine.py").write_text("raise SystemExit(0)\n" if member is None else MEMBER.format(member=member))
    run = ["run", "worker_killed_after_effect", "--system=mine:system", "--environment=embedded", "--seed=1"]

    done = subprocess.run(
        [sys.executable, "-m", "tasklab", *run], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode not in (0, 1), done.stderr
