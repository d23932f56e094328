"""`tasklab check`: what it prints, writes and exits with."""

import json
import os
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.journey import STEPS_MAX
from scenarios.record.run_facts import RunFacts
from scenarios.stored import reading
from scenarios.stored.rundir import RUN_FILE, VERDICTS_FILE, RunDirectory
from tasklab.command_line import app
from tests.anomalies import X, effect_twice, planted, repeat_under_a_valid_lease, two_holders
from tests.history_drafts import Draft
from tests.history_strategies import Life, live

CASES = Path(__file__).parent.parent / "cases"


def check(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def a_draft() -> Draft:
    draft = Draft()
    live(draft, "a", Life("done", (), frozenset(), 1.0))
    return draft


def a_run(path: Path, draft: Draft, **facts: object) -> Path:
    directory = RunDirectory(path)
    directory.create()
    (path / "history.all.jsonl").write_bytes(
        b"".join(msgspec.json.encode(event) + b"\n" for event in draft.all_events())
    )
    stated = {"claims": ["no_lost_task", "effect_at_most_once"], "finished": True, **facts}
    directory.write_facts(
        RunFacts(scenario="s", system="x", environment="e", seed=1, repeat="r", **stated)  # type: ignore[arg-type]
    )
    return path


def test_a_run_is_judged_by_its_claims_and_its_verdicts_are_written_again(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", a_draft())

    result = check(run, "--json")

    written = json.loads((run / VERDICTS_FILE).read_text())
    assert (result.exit_code, json.loads(result.stdout)) == (0, written)
    assert set(written) == {
        *("verdicts", "not_claimed", "account", "duplicates", "bounds", "journeys", "left_out"),
        *("problems", "malformed", "warnings", "exit_code"),
    }
    assert set(written["verdicts"]) == {"no_lost_task", "effect_at_most_once"}
    assert set(written["not_claimed"]) == {guarantee.value for guarantee in Guarantee} - set(written["verdicts"])
    assert written["account"]["balanced"] is True


def test_a_broken_promise_exits_with_1_and_tells_the_story(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", planted(a_draft(), effect_twice, 5)[0])

    result = check(run)

    assert result.exit_code == 1
    assert f"effect_at_most_once is broken by {X}:" in result.stdout
    assert "effect of step 1 accepted with fence 2" in result.stdout
    assert "repeated attempts by cause: 1 lost ack" in result.stdout


@pytest.mark.parametrize("facts", [{"problems": ["redis did not start"]}, {"finished": False}], ids=str)
def test_a_run_in_which_the_lab_failed_is_unknown(facts: dict, tmp_path: Path) -> None:
    assert check(a_run(tmp_path / "run", a_draft(), **facts)).exit_code == 3


def test_claims_and_policy_of_the_command_line_go_before_those_of_the_run(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", planted(a_draft(), repeat_under_a_valid_lease, 5)[0])
    policy = tmp_path / "policy.json"
    policy.write_text('{"attempts_max": 1}')

    result = check(run, "--json", "--claims", "poison_bounded, no_lost_task", "--policy", policy)

    verdicts = json.loads(result.stdout)["verdicts"]
    assert {name: verdict["verdict"] for name, verdict in verdicts.items()} == {
        "no_lost_task": "held",
        "poison_bounded": "broken",
    }


def test_the_journey_of_any_task_can_be_asked_for(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", a_draft())

    told = check(run, "--witness", "a")
    as_json = json.loads(check(run, "--witness", "a", "--json").stdout)

    assert "submits the task" in told.stdout
    assert [step["event"] for step in as_json["journey"]][:2] == ["submit.invoke", "submit.ok"]


def test_a_witness_that_is_not_there_is_wrong_usage_even_where_a_promise_is_broken(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", planted(a_draft(), effect_twice, 5)[0])

    for form in ((), ("--json",)):
        result = check(run, "--witness", "b", *form)

        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == f"tasklab: the history has no event of 'b'; there is 'a', {X!r}\n"


def test_a_directory_of_several_runs_has_a_row_each_and_the_worst_exit_code(tmp_path: Path) -> None:
    good = a_run(tmp_path / "a", a_draft())
    bad = a_run(tmp_path / "b", planted(a_draft(), effect_twice, 5)[0])
    damaged = a_run(tmp_path / "c", a_draft())
    (damaged / RUN_FILE).write_text("{")

    result = check(tmp_path)
    as_json = json.loads(check(tmp_path, "--json").stdout)

    assert result.exit_code == as_json["exit_code"] == 1
    assert [line.rstrip().split("  ")[-1].strip() for line in result.stdout.splitlines()[:4]] == [
        "why",
        "every claimed promise held: 2 put to the test",
        "1 of 2 claimed promises broken: effect_at_most_once",
        f"unknown: {damaged} holds no run: run.json is missing or damaged",
    ]
    assert [(run["directory"], run["exit_code"]) for run in as_json["runs"]] == [
        (str(good), 0),
        (str(bad), 1),
        (str(damaged), 3),
    ]
    assert as_json["runs"][1] == {"directory": str(bad), **json.loads((bad / VERDICTS_FILE).read_text())}


def test_a_directory_of_one_run_stands_for_it(tmp_path: Path) -> None:
    run = a_run(tmp_path / "place" / "run", planted(a_draft(), effect_twice, 5)[0])

    assert check(tmp_path / "place").stdout == check(run).stdout


def test_a_question_to_one_run_has_to_name_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        a_run(tmp_path / name, a_draft())

    for question in (("--witness", "a"), ("--model", "lock")):
        result = check(tmp_path, *question)

        assert (result.exit_code, result.stderr) == (
            2,
            f"tasklab: {tmp_path} holds 2 runs; name one of them: {tmp_path / 'a'}, …\n",
        )


def test_a_name_that_would_steer_the_terminal_is_shown(tmp_path: Path) -> None:
    evil = "a\x1b[2J\u202e"
    run = a_run(tmp_path / "run", planted(a_draft(), effect_twice, 5)[0])
    history = run / "history.all.jsonl"
    history.write_text(history.read_text().replace(json.dumps(X), json.dumps(evil)))

    for arguments in ((run,), (run, "--witness", evil), (run, "--witness", "\x1b[2J")):
        result = check(*arguments)

        assert not {"\x1b", "\u202e"} & set(result.stdout + result.stderr)
    assert "effect_at_most_once is broken by a\\u001b[2J\\u202e:" in check(run).stdout.splitlines()


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", a_draft())
    os.mkfifo(run / "history.pipe.jsonl")
    (run / "history.place.jsonl").mkdir()

    assert check(run).exit_code == 0
    result = check(run / "history.pipe.jsonl")
    assert (result.exit_code, result.stderr) == (
        2,
        f"tasklab: {run / 'history.pipe.jsonl'} is neither a directory nor a regular file\n",
    )


def test_a_run_that_was_killed_before_its_first_event_is_unknown_in_one_sentence(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", a_draft(), finished=False)
    (run / "history.all.jsonl").write_bytes(b"")

    result = check(run)

    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        "malformed: history.all.jsonl: holds no event",
        "problem: the run did not come to its end",
        "verdict: unknown, all 2 promises: the history is malformed: history.all.jsonl: holds no event",
    ]


def test_a_system_that_claims_nothing_is_told_so(tmp_path: Path) -> None:
    result = check(a_run(tmp_path / "run", a_draft(), claims=[]))

    assert result.exit_code == 3
    assert "verdict: unknown: the system claims no promise, so there was none to judge" in result.stdout.splitlines()


def test_what_was_held_without_being_tested_stands_apart(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", a_draft(), claims=["no_lost_task", "pause_honoured"])

    assert "held (not exercised, so no evidence): pause_honoured" in check(run).stdout


def count_of(file: Path) -> int:
    """The number of cases in a file: a list, or an object with the list."""
    content = json.loads(file.read_text())
    return len(content["cases"] if isinstance(content, dict) else content)


def test_the_judged_cases_show_no_difference() -> None:
    ours_file, jepsens_file = CASES / "task-histories.json", CASES / "jepsen-queue-cases.json"

    ours = check(ours_file, "--cases")
    jepsens = check(jepsens_file, "--cases", "--format", "jepsen")

    assert (ours.exit_code, ours.stdout.splitlines()[-1]) == (0, f"{count_of(ours_file)} cases, 0 differences")
    assert (jepsens.exit_code, jepsens.stdout.splitlines()[-1]) == (0, f"{count_of(jepsens_file)} cases, 0 differences")


def test_a_case_that_comes_out_otherwise_is_printed_and_exits_with_1(tmp_path: Path) -> None:
    case = json.loads((CASES / "task-histories.json").read_text())[0]
    case["expect"]["no_lost_task"] = {"verdict": "broken", "witnesses": ["A"]}
    file = tmp_path / "cases.json"
    file.write_text(json.dumps({"cases": [case]}))

    result = check(file, "--cases")

    assert result.exit_code == 1
    assert result.stdout.startswith("clean: no_lost_task: expected {'verdict': 'broken', 'witnesses': ['A']}, is")


def test_a_jepsen_history_gets_both_verdicts(tmp_path: Path) -> None:
    file = tmp_path / "history.edn"
    file.write_text(
        "{:type :invoke, :f :enqueue, :value 1, :process 0}\n{:type :ok, :f :enqueue, :value 1, :process 0}\n"
    )

    result = check(file, "--format", "jepsen", "--json")

    said = json.loads(result.stdout)
    assert (result.exit_code, said["valid"], said["lost"]) == (1, False, [1])
    assert said["verdicts"]["no_lost_task"]["witnesses"] == ["1"]


def test_a_register_is_judged_for_linearizability(tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    steps = [("invoke", "write", 1), ("ok", "write", 1), ("invoke", "read", None), ("ok", "read", 2)]
    file.write_text(json.dumps([{"process": 0, "type": kind, "f": f, "value": value} for kind, f, value in steps]))

    result = check(file, "--format", "jepsen", "--model", "register", "--json")

    assert (result.exit_code, json.loads(result.stdout)["valid"]) == (1, False)


def test_the_locks_of_a_history_are_judged_as_objects(tmp_path: Path) -> None:
    draft = a_draft()
    two_holders(draft, 5)

    result = check(a_run(tmp_path / "run", draft), "--model", "lock")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == "linearizable lock: not valid"


def test_statuses_of_tasks_that_were_only_counted_are_not_called_linearizable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = Draft(audited=True)
    live(draft, "a", Life("done", (), frozenset({"status"}), 1.0))
    run = a_run(tmp_path / "run", draft)

    assert check(run, "--model", "status").exit_code == 0
    monkeypatch.setattr(reading, "LARGE_BYTES_MIN", 0)
    prefiltered = check(run, "--model", "status")

    assert prefiltered.exit_code == 3
    assert "only counted" in prefiltered.stdout


def test_a_long_journey_says_in_text_and_json_how_much_it_lacks(tmp_path: Path) -> None:
    draft = a_draft()
    for number in range(500):
        draft.write(f"{50 + number} worker progress a percent=1")
    effect_twice(draft, 5)
    for number in range(500):
        draft.write(f"{50 + number} worker progress {X} percent=1")
    run = a_run(tmp_path / "run", draft)

    text = check(run, "--witness", "a").stdout
    verdicts = json.loads(check(run, "--json").stdout)

    lacking = [line for line in text.splitlines() if "in the middle left out" in line]
    assert len(lacking) == 1
    assert text.splitlines().index(lacking[0]) == STEPS_MAX // 2
    assert list(verdicts["left_out"]) == [X]
    assert verdicts["left_out"][X] > 400
    assert len(verdicts["journeys"][X]) == STEPS_MAX


@pytest.mark.parametrize(
    "arguments",
    [
        ["/nowhere"],
        [CASES / "README.md", "--model", "register"],
        [".", "--claims", "no_lost_tusk"],
        [CASES / "README.md", "--claims", ","],
        [CASES / "README.md", "--cases"],
        [CASES / "README.md", "--policy", "/nowhere"],
        [CASES / "README.md", "--policy", CASES / "README.md"],
        [CASES],
        ["/nowhere", "--format", "jepsen"],
        [CASES / "README.md", "--format", "jepsen", "--model", "stack"],
        [CASES / "README.md", "--format", "edn"],
        [CASES / "README.md", "--format", "jepsen", "--claims", "no_lost_task"],
        [CASES / "README.md", "--format", "jepsen", "--witness", "a"],
        [CASES / "task-histories.json", "--cases", "--policy", CASES / "README.md"],
        [CASES / "jepsen-queue-cases.json", "--cases", "--format", "jepsen", "--model", "queue"],
        [CASES / "README.md", "--model", "lock", "--witness", "a"],
        [CASES / "README.md", "--time-limit", "5"],
    ],
    ids=str,
)
def test_wrong_usage_exits_with_2_and_a_sentence(arguments: list) -> None:
    result = check(*arguments)

    assert result.exit_code == 2
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr


def test_what_is_no_history_exits_with_3_and_names_the_first_lines_and_how_many_more(tmp_path: Path) -> None:
    file = tmp_path / "passwd"
    file.write_text("root:x:0:0\n" * 28)

    result = check(file)

    why = "JSON is malformed: invalid character (byte 0)"
    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        *(f"malformed: passwd:{line}: {why}" for line in (1, 2, 3)),
        "malformed: and 25 more places",
        f"verdict: unknown, all {len(Guarantee)} promises: the history is malformed: passwd:1: {why} (and 27 more)",
    ]


def test_a_run_directory_that_cannot_be_written_is_judged_all_the_same(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", a_draft())
    (run / VERDICTS_FILE).mkdir()  # root may write into any directory, but replaces none by a file

    one = check(run)
    a_run(tmp_path / "other", a_draft())
    several = check(tmp_path, "--json")

    assert (one.exit_code, several.exit_code) == (0, 0)
    assert "verdict: every claimed promise held" in one.stdout
    assert f"tasklab: {run / VERDICTS_FILE} cannot be written: Is a directory" in one.stderr
    assert f"tasklab: {run / VERDICTS_FILE} cannot be written: Is a directory" in several.stderr
