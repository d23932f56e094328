"""What makes the record of a run of the lab's own unbelievable: then nothing in it is held."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed

from scenarios.judging.assumptions import violated_assumptions, violated_assumptions_of_run
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import NO_POLICY
from scenarios.judging.verdict import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN, Ruling
from scenarios.record.history import NS_PER_S, Recorded
from scenarios.record.run_facts import FaultRecord, RunFacts
from scenarios.stored.judge_files import judge_run
from scenarios.stored.rundir import RunDirectory
from tests.histories import history, json_lines, recorded

SUBMITTED = """
    1.0  client    submit.invoke  a
    1.1  client    submit.ok      a
"""
STARTED = "2.0  worker  attempt.start  a  attempt=1"
EFFECT = "2.1  outside  effect  a  attempt=1"
ENDED = "2.2  worker  attempt.ok  a  attempt=1"
DONE = "9.0  lab  final  done=a"
WORKED = "\n".join((STARTED, EFFECT, ENDED))
SOUND = "\n".join((SUBMITTED, WORKED, DONE))
CLAIMS = frozenset({Guarantee.NO_LOST_TASK, Guarantee.EXACTLY_ONE_EFFECT})


def facts(**more: Any) -> RunFacts:
    return RunFacts(scenario="s", system="s", environment="e", seed=1, repeat="", claims=sorted(CLAIMS), **more)


def strike(fault: str = "process_killed", **more: Any) -> FaultRecord:
    return FaultRecord(fault=fault, target="worker-1", when="", **more)


def steps_of(struck: FaultRecord) -> str:
    """The events of a strike in the history."""
    instants = {"begin": struck.begun_ns, "bit": struck.bit_ns, "end": struck.ended_ns, "healed": struck.healed_ns}
    return "\n".join(
        f"{t_ns / NS_PER_S} lab fault.{step} fault={struck.fault} target={struck.target}"
        for step, t_ns in instants.items()
        if t_ns is not None
    )


HEALED = strike(begun_ns=NS_PER_S, bit_ns=NS_PER_S, ended_ns=NS_PER_S, healed_ns=NS_PER_S)
CRASHED_TWICE = """
    2.15  worker-1  crash
    2.15  worker-1  crash
"""


def test_a_sound_record_raises_no_doubt() -> None:
    seen = history(SOUND, steps_of(HEALED), CRASHED_TWICE)

    assert violated_assumptions_of_run(facts(strikes=[HEALED], died={"worker-1": 1}), seen, {}) == []


@pytest.mark.parametrize(
    ("lines", "doubt"),
    [
        ([SUBMITTED, "9 lab final cancelled=a"], "a: listed as cancelled, but no client cancelled it"),
        ([SUBMITTED, "9 lab final expired=a"], "a: listed as expired, but had no deadline"),
        ([SUBMITTED, "9 lab final done=a"], "a: listed as done, but never ran"),
        (
            [SUBMITTED, "1.2 worker attempt.start a attempt=1", DONE],
            "a: listed as done, but none of its attempts ended well, and it had no effect",
        ),
        ([SUBMITTED, EFFECT, DONE], "a: has an effect, but no recorded attempt"),
        (["0.5 worker attempt.start a attempt=1", SUBMITTED, EFFECT, ENDED, DONE], "a: ran before it was submitted"),
    ],
)
def test_what_nobody_asked_for_and_nothing_shows_is_doubted(lines: list[str], doubt: str) -> None:
    assert violated_assumptions(history(*lines)) == [doubt]


def test_what_was_asked_for_is_not_doubted() -> None:
    cancelled = history(SUBMITTED, "1.5 client cancel.invoke a", "9 lab final cancelled=a")
    expired = history("1 client submit.invoke a deadline_s=1.2", "1.1 client submit.ok a", "9 lab final expired=a")

    assert violated_assumptions(cancelled) == []
    assert violated_assumptions(expired) == []


def test_many_tasks_are_one_doubt() -> None:
    submitted = [f"1 client submit.{answer} t{n}" for n in range(5) for answer in ("invoke", "ok")]

    (doubt,) = violated_assumptions(history(*submitted, "9 lab final cancelled=t0,t1,t2,t3,t4"))

    assert doubt == "t0, t1, t2 (and 2 more): listed as cancelled, but no client cancelled it"


@pytest.mark.parametrize(
    ("struck", "doubt"),
    [
        (strike(begun_ns=1), "fault process_killed on worker-1 lacks the time of its bite or of its heal in run.json"),
        (
            strike(begun_ns=1, bit_ns=2),
            "fault process_killed on worker-1 lacks the time of its bite or of its heal in run.json",
        ),
        (
            strike(begun_ns=3 * NS_PER_S, bit_ns=3 * NS_PER_S, healed_ns=4 * NS_PER_S),
            "fault process_killed on worker-1 bit after all work was done",
        ),
        (
            changed(strike(begun_ns=1, bit_ns=3 * NS_PER_S, healed_ns=4 * NS_PER_S), fault="process_paused"),
            "fault process_paused on worker-1 bit after all work was done",
        ),
    ],
)
def test_a_strike_that_proves_nothing_is_doubted(struck: FaultRecord, doubt: str) -> None:
    assert violated_assumptions_of_run(facts(strikes=[struck]), history(SOUND, steps_of(struck)), {}) == [doubt]


def test_a_worker_that_is_told_to_end_may_end_when_the_others_have_done_all_work() -> None:
    """Seen with Dramatiq: eight threads, and the four of the worker that was left ran everything meanwhile."""
    struck = changed(
        strike(begun_ns=1, bit_ns=3 * NS_PER_S, healed_ns=4 * NS_PER_S), fault="process_stopped", excuses="crash"
    )

    seen = history(SOUND, steps_of(struck), "3 worker-1 crash")

    assert violated_assumptions_of_run(facts(strikes=[struck]), seen, {}) == []


def test_a_drawn_fault_that_comes_late_or_never_says_nothing_of_the_others() -> None:
    late = strike(begun_ns=1, bit_ns=3 * NS_PER_S, healed_ns=4 * NS_PER_S)

    assert (
        violated_assumptions_of_run(facts(strikes=[late], faults_may_miss=True), history(SOUND, steps_of(late)), {})
        == []
    )


WORKER = changed(HEALED, roles=("worker",))


@pytest.mark.parametrize("fault", ["process_killed", "process_paused"])
def test_a_struck_worker_that_was_never_seen_at_work_is_doubted(fault: str) -> None:
    """Another process may have done all the work: the one that was struck is told of by the lab alone."""
    struck = changed(WORKER, fault=fault)
    seen = history(SOUND, steps_of(struck), "2.15 worker-1 crash", "2.15 worker-1 restart")

    doubts = violated_assumptions_of_run(
        facts(strikes=[struck]), seen, {"history.worker-10.7.jsonl": 9, "history.worker-1.8.jsonl": 0}
    )

    assert doubts == [f"fault {fault} struck worker-1, which recorded no event"]


@pytest.mark.parametrize(
    ("struck", "lines", "sizes"),
    [
        pytest.param(WORKER, ["2 worker-1 attempt.start a attempt=1"], {}, id="seen"),
        pytest.param(WORKER, [], {"history.worker-1.77.jsonl": 9}, id="seen in what was prefiltered out"),
        pytest.param(changed(WORKER, roles=("api", "relay")), [], {}, id="runs no handlers"),
        pytest.param(changed(WORKER, fault="network_degraded"), [], {}, id="struck at its link"),
    ],
)
def test_a_struck_process_that_was_seen_or_need_not_be_is_not_doubted(
    struck: FaultRecord, lines: list[str], sizes: dict[str, int]
) -> None:
    seen = history(SOUND, *lines, steps_of(struck))

    assert violated_assumptions_of_run(facts(strikes=[struck]), seen, sizes) == []


def test_faults_of_which_run_and_history_say_different_things_are_doubted() -> None:
    bitten, lifted = changed(HEALED, ended_ns=None, healed_ns=None), changed(HEALED, healed_ns=None)

    unhealed = violated_assumptions_of_run(facts(strikes=[HEALED]), history(SOUND, steps_of(lifted)), {})
    unknown = violated_assumptions_of_run(facts(), history(SOUND, steps_of(bitten)), {})
    other = violated_assumptions_of_run(
        facts(strikes=[HEALED]), history(SOUND, steps_of(changed(HEALED, fault="x"))), {}
    )

    assert unhealed == ["fault process_killed on worker-1 healed 1 times in run.json, 0 times in the history"]
    assert unknown == [
        f"fault process_killed on worker-1 {what} 0 times in run.json, 1 times in the history"
        for what in ("began", "bit")
    ]
    assert len(other) == 8


@pytest.mark.parametrize(
    ("died", "doubts"),
    [
        ({}, ["worker-1 crashed 2 times in the history, and the lab saw 1"]),
        ({"worker-1": 1}, []),
        ({"worker-1": 1, "api": 1}, ["api crashed 0 times in the history, and the lab saw 1"]),
        (None, []),  # an earlier version did not count
    ],
)
def test_a_crash_that_the_lab_did_not_see_is_doubted(died: dict[str, int] | None, doubts: list[str]) -> None:
    seen = history(SOUND, steps_of(HEALED), CRASHED_TWICE)

    assert violated_assumptions_of_run(facts(strikes=[HEALED], died=died), seen, {}) == doubts


def test_the_crash_of_a_fault_of_any_name_is_one_that_the_lab_saw() -> None:
    terminated = strike(fault="process_terminated", excuses="crash", begun_ns=NS_PER_S, bit_ns=NS_PER_S)
    seen = history(SOUND, steps_of(terminated), "2.15 worker-1 crash")

    assert not [
        one for one in violated_assumptions_of_run(facts(strikes=[terminated], died={}), seen, {}) if "crash" in one
    ]


def test_with_a_doubt_nothing_is_held_and_what_is_proven_is_broken() -> None:
    twice = history(SOUND, "3 outside effect a attempt=1")

    held = judge(recorded(SOUND), claims=CLAIMS, policy=NO_POLICY)
    doubted = judge(recorded(SOUND), claims=CLAIMS, policy=NO_POLICY, violated=["something"])
    broken = judge(Recorded(twice), claims=CLAIMS, policy=NO_POLICY, violated=["something"])

    assert (held.exit_code, doubted.exit_code, broken.exit_code) == (EXIT_HELD, EXIT_UNKNOWN, EXIT_BROKEN)
    assert {verdict.ruling for verdict in doubted.verdicts} == {Ruling.UNKNOWN}
    assert doubted.problems == ("something",)


def test_a_fault_that_was_never_seen_to_bite_is_a_problem_of_the_run() -> None:
    unbitten = recorded(SOUND, "1.5 lab fault.begin fault=service_killed target=mysql")

    judgement = judge(unbitten, claims=CLAIMS, policy=NO_POLICY)

    assert judgement.problems == ("fault service_killed on mysql was never seen to bite",)
    assert {(one.ruling, one.reason) for one in judgement.verdicts} == {(Ruling.UNKNOWN, judgement.problems[0])}


def test_promises_that_nothing_put_to_the_test_are_no_success() -> None:
    untested = judge(recorded(SOUND), claims=[Guarantee.ORDER_KEPT], policy=NO_POLICY)

    assert [verdict.ruling for verdict in untested.verdicts] == [Ruling.HELD]
    assert untested.exit_code == EXIT_UNKNOWN


def write_run(path: Path) -> RunDirectory:
    directory = RunDirectory(path)
    directory.create()
    for actor, lines in (("client", SUBMITTED), ("worker", f"{STARTED}\n{ENDED}"), ("outside", EFFECT), ("lab", DONE)):
        (path / f"history.{actor}.jsonl").write_bytes(json_lines(lines))
    directory.seal(facts())
    return directory


def test_files_that_are_not_what_the_run_left_are_doubted(tmp_path: Path) -> None:
    directory = write_run(tmp_path)
    assert judge_run(directory).exit_code == EXIT_HELD

    worker = tmp_path / "history.worker.jsonl"
    whole = worker.read_bytes()
    worker.write_bytes(whole.splitlines(keepends=True)[0])
    assert f"had {len(whole)} bytes" in judge_run(directory).problems[0]

    worker.unlink()
    assert any(
        f"history.worker.jsonl had {len(whole)} bytes when the run ended, and is gone now" in p
        for p in judge_run(directory).problems
    )

    worker.write_bytes(whole)
    (tmp_path / "history.worker.copy.jsonl").write_bytes(whole)
    assert "history.worker.copy.jsonl did not exist when the run ended" in judge_run(directory).problems
