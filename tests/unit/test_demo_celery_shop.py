"""The sample Celery app of the demo: where it cannot run, the demo says why; the table shows what each configuration broke."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tasklab.presentation.celery_shop import print_celery_shop
from tasklab.presentation.terminal import Progress
from tasklab.running import celery_shop
from tasklab.running.celery_shop import SAMPLE, SCENARIOS, ShopRuns, run_celery_shop


def run_in(root: Path, monkeypatch: pytest.MonkeyPatch, requirements: str | None) -> ShopRuns:
    """In an installation at `root`, whose sample requires this; None: without the sample."""
    if requirements is not None:
        (root / SAMPLE).mkdir(parents=True)
        (root / SAMPLE / "requirements.txt").write_text(requirements)
    monkeypatch.setattr(celery_shop, "ROOT", root)
    monkeypatch.setattr(sys, "prefix", str(root / "environment"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return run_celery_shop(7, root, Progress())


def test_an_installation_without_the_sample_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_in(tmp_path, monkeypatch, None).why_not == (
        "it is in docs/examples/celery_shop of a clone, and this is an installation without it"
    )


def test_what_pip_cannot_install_is_said_with_the_way_to_do_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why_not = run_in(tmp_path, monkeypatch, "celery==0.0.0.1\n").why_not

    assert why_not.startswith("pip cannot install it: ")
    assert "celery==0.0.0.1" in why_not
    assert why_not.endswith("to see it: follow docs/examples/celery_shop/README.md")


def test_a_lab_that_cannot_run_it_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why_not = run_in(tmp_path, monkeypatch, "").why_not

    assert why_not.startswith("with shop.defaults the lab could not run it: tasklab: ")


def test_the_table_shows_each_broken_promise_and_what_is_documented_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    lost = {"no_lost_task": {"verdict": "broken"}, "no_stuck_task": {"verdict": "unknown"}}
    documented = {"no_lost_task": "acknowledged early", "no_stuck_task": "not shown"}
    defaults: list[dict[str, Any]] = [
        {"scenario": SCENARIOS[0], "exit_code": 1, "why": None, "verdicts": lost, "documented": documented},
        {"scenario": SCENARIOS[1], "exit_code": 3, "why": "no such service", "documented": {}},
    ]
    held = {"exit_code": 0, "verdicts": {"no_lost_task": {"verdict": "held"}}, "documented": documented}

    print_celery_shop(ShopRuns({"defaults": defaults, "reliable": [{**held, "scenario": name} for name in SCENARIOS]}))

    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if "│" in line]
    assert rows == [
        [SCENARIOS[0], "BROKEN: no_lost_task", "held"],
        [SCENARIOS[1], "not applicable: no such service", "held"],
    ]
    assert "documented: acknowledged early" in printed
    assert "not shown" not in printed
