"""verdicts.json: one typed form that is written and read."""

from pathlib import Path

import msgspec
import pytest

from scenarios.errors import UnreadableVerdicts
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.judgement_record import JudgementRecord
from scenarios.judging.policy import Policy
from scenarios.stored.rundir import VERDICTS_FILE, RunDirectory
from tests.anomalies import effect_twice, planted
from tests.history_drafts import Draft
from tests.history_strategies import Life, live


def a_broken_run() -> JudgementRecord:
    draft = Draft(audited=True, leased=True)
    for number in range(3):
        live(draft, f"task-{number}", Life("done", (), frozenset({"status"}), number))
    bad, _ = planted(draft, effect_twice, 5)
    return judge(bad.recorded(), claims=Guarantee, policy=Policy()).to_record()


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    written = a_broken_run()

    RunDirectory(tmp_path).write_verdicts(written)

    assert RunDirectory(tmp_path).read_verdicts() == written


def test_the_names_in_the_file_are_those_of_the_documentation() -> None:
    content = msgspec.to_builtins(a_broken_run())

    assert list(content) == [
        "verdicts",
        "not_claimed",
        "account",
        "duplicates",
        "bounds",
        "journeys",
        "left_out",
        "problems",
        "malformed",
        "warnings",
        "exit_code",
    ]
    assert list(content["verdicts"]["exactly_one_effect"]) == ["verdict", "witnesses", "reason", "figures", "exercised"]
    (steps, *_) = content["journeys"].values()
    assert list(steps[0]) == ["t_ns", "actor", "lane", "event", "text"]


def test_a_run_that_was_not_judged_has_no_verdicts(tmp_path: Path) -> None:
    assert RunDirectory(tmp_path).read_verdicts() is None


def test_a_damaged_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / VERDICTS_FILE).write_text('{"verdicts": {"no_lost_task": {"verdict": "fine"}}}')

    with pytest.raises(UnreadableVerdicts, match="Invalid enum value 'fine'"):
        RunDirectory(tmp_path).read_verdicts()
