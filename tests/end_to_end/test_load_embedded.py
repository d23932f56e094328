"""`tasklab load` without any service, run as a user runs it: an ordinary run, an honest generator, nothing left behind."""

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
from load_faults import FROZEN_S

from chaos.ports import PortAllocator, is_refused
from loadtests.exchange_files import HISTORY_FILE, decode_line
from loadtests.figures import percentiles
from reports.series import series_of
from scenarios.record.history import NS_PER_S
from scenarios.stored.judge_files import judge_path
from tasklab.running.locust_driver import LOCUSTFILE
from tests.load_process import Lab, left_of, load

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
    bit_ns, lifted_ns = strike.bit_ns or 0, strike.ended_ns or 0
    lines = [decode_line(line) for line in (ended.directory.path / HISTORY_FILE).read_bytes().splitlines()]
    sent = [line for line in lines if line.event == "submit.invoke"]
    due_while_frozen = [line for line in sent if bit_ns <= line.planned_ns <= lifted_ns]
    assert len(due_while_frozen) > 0.5 * 20 * FROZEN_S
    assert sum(line.t_ns <= lifted_ns for line in due_while_frozen) > 0.8 * len(due_while_frozen)
    # Nobody can have been answered before the API went on: so long, at least, each of these waited.
    waited = [(lifted_ns - line.planned_ns) / NS_PER_S for line in due_while_frozen]
    least = percentiles(waited + [0.0] * (len(sent) - len(waited)))
    assert least is not None
    assert least.p95_s > 0.5 * FROZEN_S
    for name, least_s in msgspec.to_builtins(least).items():
        assert ended.load["answers"][name] >= least_s
    recorded = ended.directory.read_history().history
    latency = series_of(recorded, max(event.t_ns for event in recorded.events) + NS_PER_S).latency
    assert latency.p95_of_all_s is not None
    assert latency.p95_of_all_s > 0.4 * FROZEN_S


def test_a_load_that_was_not_the_one_asked_for_is_unknown_and_says_by_how_much(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "--rate", "20", "--duration", "3", *EMBEDDED)
    lab.await_begun()
    generator = lab.locust()
    generator.send_signal(signal.SIGSTOP)
    lab.await_that(lambda: lab.since_begun_s() > 2.0)  # two thirds of the load are due while the generator is away
    generator.send_signal(signal.SIGCONT)

    ended = lab.end()

    assert ended.exit_code == 3
    (problem,) = ended.directory.read_facts().problems
    assert problem.startswith("the load was not as planned: ")
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


def test_locusts_page_without_the_lab_is_for_this_machine_alone(tmp_path: Path) -> None:
    with closing(PortAllocator()) as ports:
        port = ports.allocate()
        command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--web-port", str(port)]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as locust:
            try:
                while is_refused("127.0.0.1", port):
                    assert locust.poll() is None
                elsewhere = is_refused("127.0.0.2", port)  # whoever binds every address answers here, too
            finally:
                locust.terminate()

    assert elsewhere
