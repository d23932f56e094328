"""What a policy and a record may say, and which sources are believed."""

# ruff: noqa: N817 -- a case is a line, and reads as one

from pathlib import Path

import pytest

from scenarios.errors import MalformedPolicy
from scenarios.judging.guarantees import Guarantee as G
from scenarios.judging.judge import judge
from scenarios.judging.policy import policy_from
from scenarios.judging.verdict import EXIT_UNKNOWN, Ruling
from scenarios.record.history import Recorded
from scenarios.record.run_facts import RunFacts
from scenarios.stored import reading
from scenarios.stored.judge_files import JudgeOptions, judge_path, judge_run
from scenarios.stored.large.prefilter import prefilter
from scenarios.stored.reading import read_files
from scenarios.stored.rundir import RunDirectory, runs_without_facts
from tests.unit.rule_cases import DONE, RAN, SUBMITTED, final, history_of, of_user, written


def test_a_name_in_a_policy_that_no_judge_knows_is_named_with_the_nearest() -> None:
    policy = policy_from({"atempts_max": 3, "window": {"kind": "fixed", "n": 1, "per_s": 1, "brust": 2}})

    judgement = judge(Recorded(history_of(*RAN, DONE)), claims=None, policy=policy)

    assert judgement.warnings == (
        "the policy has an unknown field: 'atempts_max'; the most similar one is 'attempts_max'",
        "the policy's window has an unknown field: 'brust'; the most similar one is 'burst'",
    )


@pytest.mark.parametrize(
    "policy",
    [
        {"order": "parallel"},
        {"concurrency": {"by": "colour", "n": 1}},
        {"concurrency": {"by": "all", "n": -1}},
        {"schedules": {"a": {"every_s": 0}}},
        {"schedules": {"a": {"every_s": 1, "catch_up": "some"}}},
        {"execution_window": {"kind": "fixed", "n": 1}},
        {"window": {"kind": "fixed", "n": 1, "per_s": 1, "starts": "last"}},
        {"wait_s": {"1": -1}},
    ],
)
def test_a_policy_that_is_none_is_refused(policy: dict[str, object]) -> None:
    with pytest.raises(MalformedPolicy):
        policy_from(policy)


@pytest.mark.parametrize("large_bytes_min", [0, 10**9], ids=["prefiltered", "whole"])
def test_an_unsorted_history_is_read_where_that_is_said(
    large_bytes_min: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LARGE_BYTES_MIN", large_bytes_min)
    file = written(tmp_path, "history.jsonl", *reversed(RAN), DONE)

    refused = judge_path(file, JudgeOptions(frozenset({G.NO_LOST_TASK}))).judgement
    read = judge_path(file, JudgeOptions(frozenset({G.NO_LOST_TASK}), is_sorted=False)).judgement

    assert "--unsorted" in refused.malformed[0]
    assert (read.malformed, read.exit_code) == ((), 0)


@pytest.mark.parametrize("problems", [[], ["the broker did not heal"]], ids=["", "the lab failed"])
@pytest.mark.parametrize("large_bytes_min", [0, 10**9], ids=["prefiltered", "whole"])
def test_a_process_that_tells_of_clients_or_the_lab_is_not_believed(
    large_bytes_min: int, problems: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LARGE_BYTES_MIN", large_bytes_min)
    directory = RunDirectory(tmp_path)
    directory.create()
    written(tmp_path, "history.client.jsonl", *SUBMITTED)
    written(tmp_path, "history.outside.jsonl", RAN[3])
    written(tmp_path, "history.lab.jsonl", DONE)
    written(tmp_path, "history.w1.77.jsonl", RAN[2], RAN[4])
    claims = [G.NO_LOST_TASK.value, G.EFFECT_AT_MOST_ONCE.value]
    facts = RunFacts(scenario="s", system="s", environment="e", seed=1, repeat="", claims=claims)
    directory.seal(facts)
    believed = judge_run(directory)

    written(tmp_path, "history.w1.77.jsonl", RAN[2], RAN[4], "3 w1 redrive A", "4 w1 crash -")
    directory.seal(facts)
    forged = judge_run(directory)

    assert believed.exit_code == 0
    assert forged.exit_code == EXIT_UNKNOWN
    assert (
        "history.w1.77.jsonl was written by a process of the system, but holds events that it cannot know: crash, redrive"
        in forged.problems
    )

    written(tmp_path, "history.w1.77.jsonl", RAN[2], RAN[4], RAN[3])  # a second effect, by the process's own word
    facts.problems = problems
    directory.seal(facts)
    assert {said.ruling for said in judge_run(directory).verdicts} == {Ruling.UNKNOWN}


def test_a_run_without_its_facts_is_named(tmp_path: Path) -> None:
    (tmp_path / "run-1").mkdir()
    written(tmp_path / "run-1", "history.lab.jsonl", DONE)

    assert runs_without_facts(tmp_path) == [tmp_path / "run-1"]


def test_both_engines_know_when_the_record_ends(tmp_path: Path) -> None:
    late = "0 c submit.invoke A due_s=5", "0 c submit.ok A due_s=5"
    file = written(
        tmp_path, "history.jsonl", *late, *(line for one in range(3) for line in of_user(f"K{one}", 50, 51, f"w{one}"))
    )

    assert prefilter([file], policy_from({})).recorded.history.end_ns == read_files([file]).history.end_ns


def test_a_judgement_over_a_violated_assumption_can_be_written_down(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    directory.create()
    written(tmp_path, "history.lab.jsonl", *SUBMITTED, final(done=["A"]))
    directory.seal(
        RunFacts(scenario="s", system="s", environment="e", seed=1, repeat="", claims=[G.NO_LOST_TASK.value])
    )

    assert judge_run(directory).problems == ("A: listed as done, but never ran",)
