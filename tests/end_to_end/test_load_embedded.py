"""`tasklab load` without any service, run as a user runs it: an ordinary run, an honest generator, nothing left behind."""

import signal
import threading
from pathlib import Path

import msgspec
from load_faults import FROZEN_S
from loads import Lab, left_of, load

from reports.series import series_of
from scenarios.history import NS_PER_S
from scenarios.judging import judge_path

EMBEDDED = ("--environment", "embedded", "--seed", "3")


def test_a_load_is_an_ordinary_run_judged_by_the_same_judges(tmp_path: Path) -> None:
    ended = load(tmp_path, "--rate", "20", "--duration", "2", *EMBEDDED)

    assert ended.exit_code == 0, ended.stderr
    assert (ended.load["planned"], ended.load["sent"], ended.load["acknowledged"]) == (40, 40, 40)
    assert ended.said["account"]["done"] == 41  # with the warm-up
    facts = ended.directory.read_facts()
    assert facts.repeat == "tasklab load --rate 20 --duration 2 --system reference --environment embedded --seed 3"
    assert msgspec.to_builtins(facts.load) == ended.load
    assert judge_path(ended.directory.path).judgement.exit_code == 0
    assert left_of(tmp_path) == []


def test_the_same_seed_submits_the_same_tasks(tmp_path: Path) -> None:
    submitted = []
    for name in ("first", "second"):
        history = load(tmp_path / name, "--rate", "20", "--duration", "1", *EMBEDDED).directory.read_history().history
        sent = (event for event in history.events if event.event == "submit.invoke" and event.actor == "load")
        submitted.append([(event.task, event.user, event.key) for event in sent])

    assert submitted[0] == submitted[1]


def test_a_frozen_api_stops_no_submission_and_shows_in_the_percentiles_and_in_the_report(tmp_path: Path) -> None:
    ended = load(
        tmp_path, "--rate", "20", "--duration", "5", "--fault", "tests.end_to_end.load_faults:api_frozen", *EMBEDDED
    )

    (strike,) = ended.directory.read_facts().strikes
    assert strike.bit_ns is not None
    assert strike.ended_ns is not None
    recorded = ended.directory.read_history().history
    sent_ns = [event.t_ns for event in recorded.events if event.event == "submit.invoke"]
    while_frozen = sum(strike.bit_ns <= t_ns <= strike.ended_ns for t_ns in sent_ns)
    assert while_frozen >= 0.8 * 20 * FROZEN_S
    assert ended.load["answers"]["p50_s"] > 0.2 * FROZEN_S  # three fifths of the tasks were due while it stood still
    assert ended.load["answers"]["max_s"] > 0.9 * FROZEN_S
    latency = series_of(recorded, max(event.t_ns for event in recorded.events) + NS_PER_S).latency
    assert latency.p95_of_all_s is not None
    assert latency.p95_of_all_s > 0.7 * FROZEN_S


def test_a_load_that_was_not_the_one_asked_for_is_unknown_and_says_by_how_much(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "--rate", "20", "--duration", "3", *EMBEDDED)
    lab.await_begun()
    generator = lab.locust()
    generator.send_signal(signal.SIGSTOP)
    threading.Event().wait(2.0)  # so long the generator is away: two thirds of the load are late
    generator.send_signal(signal.SIGCONT)

    ended = lab.end()

    assert ended.exit_code == 3
    (problem,) = ended.directory.read_facts().problems
    assert problem.startswith("the load was not the one asked for: ")
    assert "planned 20/s" in problem
    assert ended.load["on_time"] < 0.95 * ended.load["planned"]


def test_a_generator_that_dies_makes_the_run_unknown_and_is_named(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "--rate", "20", "--duration", "30", *EMBEDDED)
    lab.await_begun()
    lab.locust().kill()

    ended = lab.end()

    assert ended.exit_code == 3
    assert any(problem.startswith("process locust: ended with exit code -9") for problem in ended.said["problems"])
    assert left_of(tmp_path) == []


def test_ctrl_c_ends_everything_that_was_started(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "--rate", "20", "--duration", "30", *EMBEDDED)
    lab.await_begun()
    lab.process.send_signal(signal.SIGINT)

    ended = lab.end()

    assert ended.exit_code == 130
    assert left_of(tmp_path) == []


def test_a_lab_that_is_killed_takes_its_generator_with_it(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "--rate", "20", "--duration", "30", *EMBEDDED)
    lab.await_begun()
    generator = lab.locust()

    lab.process.kill()

    assert lab.end().exit_code == -signal.SIGKILL
    generator.wait(timeout=10)
