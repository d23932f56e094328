"""Generated mutants: one that every world shows is killed, one that changes nothing survives, and the command tells both."""

import json
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tasklab.mutation.campaign import GeneratedMutant, Trials, mutants_of
from tasklab.mutation.changes import Change
from tasklab.mutation.trial import TrialResult


def mutant(file: str, before: str, after: str) -> GeneratedMutant:
    """The reference with `after` in the place of the only `before` in one of its files."""
    source = mutants_of([file])[0].source
    assert source.count(before) == 1
    start = len(source[: source.index(before)].encode())
    return GeneratedMutant(Change(file, 1, 1, "by hand", start, start + len(before.encode()), after), source)


def result_of(one: GeneratedMutant, *, cpu_s: float = 0.3) -> TrialResult:
    ((_, result),) = Trials(1, cpu_s, 1).outcomes([one])
    return result


def test_a_message_that_is_not_published_leaves_its_task_stuck() -> None:
    result = result_of(mutant("rows/outbox.py", "connection.execute(_PUT,", "print("))

    assert (result.how, result.reached) == ("promise", True)
    assert "no_stuck_task" in result.what


def test_an_exception_of_the_changed_code_kills_its_mutant() -> None:
    result = result_of(mutant("loops/relay.py", "return 0", "raise KeyError(7)"))

    assert result.how == "crash"
    assert result.what.endswith("KeyError: 7")


def test_a_module_that_cannot_be_imported_kills_its_mutant() -> None:
    result = result_of(mutant("loops/relay.py", "UNROUTABLE_DELAY_S = 2.0", "UNROUTABLE_DELAY_S = nothing"))

    assert result == TrialResult("crash", "NameError: name 'nothing' is not defined", reached=True)


def test_a_change_of_nothing_survives_and_its_worlds_are_counted() -> None:
    result = result_of(mutant("rows/submission.py", "raise PayloadTooLarge(", "raise (PayloadTooLarge)("))

    assert (result.how, result.reached) == ("survived", False)
    assert result.worlds >= 1


@pytest.mark.slow
def test_work_that_is_done_again_and_again_kills_its_mutant_and_not_the_reference() -> None:
    trials = Trials(1, 4.0, 1)
    again = mutant("loops/heartbeat.py", "self._claims.pop((claim.task.id, claim.fence), None)", "pass")
    same = mutant("loops/heartbeat.py", "claim.fence), None)", "claim.fence), None) ")

    control = trials.control()
    results = {one.change.after: result for one, result in trials.outcomes([again, same])}

    assert control.how == results[same.change.after].how == "survived"
    assert results["pass"].how == "busy"
    assert results["pass"].what.startswith("worker heartbeat mysql: ")


@pytest.mark.slow
def test_a_loop_without_end_is_ended_by_the_kernel() -> None:
    result = result_of(mutant("loops/relay.py", "return 0", "\n            while True: pass"))

    assert result.how == "stuck"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tasklab", "mutants", "--generate", *arguments]


def test_the_command_tells_what_became_of_a_change_and_ends_with_1_if_one_survives() -> None:
    ids = [one.change.id for one in mutants_of(["retry.py"]) if "DOUBLINGS_MAX = " in one.diff[0]]

    done = subprocess.run(
        command("--only", ids[-1], "--seed", "5", "--seconds", "0.3", "--jobs", "1", "--json"),
        capture_output=True,
        text=True,
        check=False,
    )

    told = json.loads(done.stdout)
    (row,) = told["mutants"]
    assert (done.returncode, told["seed"]) == (1, 5)
    assert (row["id"], row["how"], row["diff"]) == (ids[-1], "survived", ["-DOUBLINGS_MAX = 60", "+DOUBLINGS_MAX = 61"])


def test_an_interrupted_campaign_sums_up_and_leaves_no_child() -> None:
    lab = subprocess.Popen(
        command("loops/relay.py", "--seconds", "60", "--jobs", "2", "--seed", "1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert lab.stderr is not None
    lab.stderr.readline()
    deadline_s = time.monotonic() + 30
    while not (children := psutil.Process(lab.pid).children(recursive=True)):
        assert time.monotonic() < deadline_s, "no trial began"
        time.sleep(0.05)
    lab.send_signal(signal.SIGINT)
    out, _ = lab.communicate(timeout=30)

    assert lab.returncode == 130
    assert "0 of 0 mutants killed" in out
    assert psutil.wait_procs(children, timeout=10)[1] == []
