"""What `tasklab run` prints: each reason once, deaths with the end of their logs, and over several seeds how often what came out."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import NO_POLICY
from scenarios.lookup import scenarios_testing
from scenarios.record.run_facts import DeathRecord, RunFacts
from tasklab.command_line import app
from tasklab.presentation.runs import print_judged, print_several, rates_of, untested_of
from tasklab.running.judged_run import JudgedRun, RunName
from tests.histories import recorded

WHY = "nobody took over"
LOST = "0.1 client submit.invoke a\n0.2 client submit.ok a\n9.0 lab final done= dead= pending="
DONE = """
    0.1  client    submit.invoke  a
    0.2  client    submit.ok      a
    1.0  worker-1  attempt.start  a  attempt=1
    1.1  outside   effect         a  attempt=1
    1.2  worker-1  attempt.ok     a  attempt=1
    9.0  lab       final          done=a
"""
CLAIMS = (Guarantee.NO_LOST_TASK, Guarantee.EXACTLY_ONE_EFFECT, Guarantee.NO_STUCK_TASK)


def a_run(history: str, *unmet: str, seed: int = 1, deaths: tuple[DeathRecord, ...] = ()) -> JudgedRun:
    judgement = judge(recorded(history), claims=CLAIMS, policy=NO_POLICY, unmet=unmet)
    return JudgedRun(RunName("lease_expires", "acme", "local", seed, "r"), Path("run"), None, judgement, deaths=deaths)


def test_a_promise_that_nothing_tested_is_named_with_a_scenario_that_would(capsys: pytest.CaptureFixture[str]) -> None:
    judgement = judge(recorded(DONE), claims=[*CLAIMS, Guarantee.CANCEL_HONOURED], policy=NO_POLICY)
    facts = RunFacts(
        scenario="ack_lost",
        system="acme",
        environment="local",
        seed=7,
        repeat="tasklab run ack_lost --system acme.lab:system --python p --environment local --seed 7",
        tested_by={"cancel_honoured": ["tasks_cancelled"]},
    )
    run = JudgedRun(RunName("ack_lost", "acme", "local", 1, "r"), Path("run"), None, judgement, facts=facts)

    print_several([run, run], None)

    command = "tasklab run tasks_cancelled --system acme.lab:system --python p"
    assert f"cancel_honoured × acme: nothing tested it; try `{command}`" in " ".join(capsys.readouterr().out.split())
    assert untested_of([run]) == {"acme": ["cancel_honoured"]}


@pytest.mark.parametrize("promise", Guarantee)
def test_every_promise_is_at_stake_in_a_scenario(promise: Guarantee) -> None:
    assert scenarios_testing(promise)


@pytest.mark.parametrize("history", [DONE, LOST], ids=["all unknown", "one broken, the others unknown"])
def test_the_reason_of_an_unknown_run_is_said_once(history: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_judged(a_run(history, WHY))

    assert capsys.readouterr().out.count(WHY) == 1


@pytest.mark.parametrize(("history", "lines"), [(LOST, 1), (DONE, 0)], ids=["broken", "held"])
def test_what_a_library_documents_is_named_beside_the_broken_promise(
    history: str, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    run = replace(a_run(history), documented={"no_lost_task": "it acknowledges early: https://queue.example/acks"})

    print_judged(run)

    said = "documented: no_lost_task: it acknowledges early: https://queue.example/acks"
    assert capsys.readouterr().out.splitlines().count(said) == lines
    assert run.to_json()["documented"] == dict(run.documented)
    assert run.exit_code == (1 if lines else a_run(history).exit_code)


def test_a_process_that_ended_by_itself_is_named_with_the_end_of_its_log(capsys: pytest.CaptureFixture[str]) -> None:
    death = DeathRecord(
        process="worker-1", times=2, how="exit code 0", log="worker-1.log", last_lines=("bye", "Unrecoverable")
    )
    run = a_run(DONE, deaths=(death,))

    print_judged(run)

    said = capsys.readouterr().out
    assert "ended by itself: worker-1, 2 times (exit code 0); logs/worker-1.log ends:\n  bye\n  Unrecoverable\n" in said
    assert run.to_json()["deaths"] == [
        {
            "process": "worker-1",
            "times": 2,
            "how": "exit code 0",
            "log": "worker-1.log",
            "last_lines": ("bye", "Unrecoverable"),
        }
    ]


def test_rates_are_over_the_judged_runs_of_a_scenario() -> None:
    inapplicable = JudgedRun(RunName("lock_expires", "acme", "local", 1, "r"), None, None, None, "it has no leader")
    runs = [a_run(DONE, seed=1), a_run(LOST, seed=2), a_run(DONE, WHY, seed=3), a_run(DONE, seed=4), inapplicable]

    assert [rate["sentence"] for rate in rates_of(runs)] == [
        "broken 1 of 4, unknown 1 of 4, held 2 of 4",
        "not applicable",
    ]


def test_several_seeds_give_a_run_each_a_summary_and_one_report(tmp_path: Path) -> None:
    options = ["--environment", "simulated", "--seeds", "3..4", "--out", str(tmp_path)]

    done = CliRunner().invoke(app, ["run", "ack_lost", *options])

    assert done.exit_code == 0, done.output
    assert "ack_lost × reference: held 2 of 2" in done.output
    assert sorted(file.parent.name for file in tmp_path.glob("*/run.json")) == [
        "ack_lost-reference-3",
        "ack_lost-reference-4",
    ]
    assert "held 2 of 2" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    "options", [("--seeds", "4..3"), ("--seeds", "x"), ("--seeds", "1..2", "--seed", "1"), ("--seeds", "1..9999")]
)
def test_what_is_no_range_of_seeds_is_wrong_usage(options: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, ["run", "ack_lost", "--environment", "simulated", *options]).exit_code == 2
