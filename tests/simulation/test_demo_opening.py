"""How the demo opens: it may say "held" only of a system that holds, and shows the planted defect."""

import pytest

from tasklab.presentation.campaign_line import shown
from tasklab.presentation.opening import print_opening
from tasklab.presentation.terminal import Progress
from tasklab.running import opening as demo_opening
from tasklab.running.opening import open_with_simulator


def test_a_healthy_system_holds_and_the_planted_defect_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_opening, "WORLDS", 20)

    opening = open_with_simulator(7, Progress(), shown)
    print_opening(opening)

    printed = capsys.readouterr().out
    assert opening.exit_code == 0
    assert opening.to_json()["worlds"] == 20
    assert "alarms: 0 in 20" in printed
    assert "found by no_stuck_task" in printed
    assert "tasklab replay world~" in printed


def test_a_system_that_breaks_is_an_alarm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo_opening, "WORLDS", 60)
    monkeypatch.setattr(demo_opening, "SYSTEM", "scenarios.systems.mutants.key_per_attempt:system")

    opening = open_with_simulator(1, Progress(), shown)
    print_opening(opening)

    assert opening.exit_code == 1
    assert "tasklab replay swarm~scenarios.systems.mutants.key_per_attempt:system~" in capsys.readouterr().out


def test_a_defect_that_is_not_found_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_opening, "WORLDS", 4)
    monkeypatch.setattr(demo_opening, "SEARCH_S", 0.0)

    opening = open_with_simulator(1, Progress(), shown)
    print_opening(opening)

    assert opening.exit_code == 1
    assert "NOT FOUND" in capsys.readouterr().out
