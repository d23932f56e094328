"""What makes the record of a run of the lab's own unbelievable: then nothing in it is held."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scenarios.judging.assumptions import violated_assumptions, violated_assumptions_of_run
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import NO_POLICY
from scenarios.judging.verdict import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN, Ruling
from scenarios.record.history import NS_PER_S, History, Recorded, event_from
from scenarios.record.run_facts import FaultRecord, RunFacts
from scenarios.stored.judge import judge_run
from scenarios.stored.rundir import RunDirectory

SOUND: list[dict[str, Any]] = [
    {"t_s": 1.0, "actor": "client", "event": "submit.invoke", "task": "a"},
    {"t_s": 1.1, "actor": "client", "event": "submit.ok", "task": "a"},
    {"t_s": 2.0, "actor": "worker", "event": "attempt.start", "task": "a", "attempt": 1},
    {"t_s": 2.1, "actor": "outside", "event": "effect", "task": "a", "attempt": 1},
    {"t_s": 2.2, "actor": "worker", "event": "attempt.ok", "task": "a", "attempt": 1},
    {"t_s": 9.0, "actor": "lab", "event": "final", "healed": True, "caught_up": True, "done": ["a"]},
]
CLAIMS = frozenset({Guarantee.NO_LOST_TASK, Guarantee.EXACTLY_ONE_EFFECT})


def history_of(*events: Mapping[str, Any]) -> History:
    return History([event_from(dict(event)) for event in events])


def final(**lists: list[str]) -> dict[str, Any]:
    return {"t_s": 9.0, "actor": "lab", "event": "final", "healed": True, "caught_up": True, **lists}


def facts(**more: Any) -> RunFacts:
    return RunFacts(scenario="s", system="s", environment="e", seed=1, repeat="", claims=sorted(CLAIMS), **more)


def strike(fault: str = "process_killed", **more: Any) -> FaultRecord:
    return FaultRecord(fault=fault, target="worker-1", when="", **more)


def steps_of(struck: FaultRecord) -> list[dict[str, Any]]:
    """What the history says of a strike."""
    instants = {"begin": struck.begun_ns, "bit": struck.bit_ns, "end": struck.ended_ns, "healed": struck.healed_ns}
    return [
        {"t_ns": t_ns, "actor": "lab", "event": f"fault.{step}", "fault": struck.fault, "target": struck.target}
        for step, t_ns in instants.items()
        if t_ns is not None
    ]


HEALED = strike(begun_ns=NS_PER_S, bit_ns=NS_PER_S, ended_ns=NS_PER_S, healed_ns=NS_PER_S)
CRASH = {"t_s": 2.15, "actor": "worker-1", "event": "crash"}


def test_a_sound_record_raises_no_doubt() -> None:
    history = history_of(*SOUND, *steps_of(HEALED), CRASH, CRASH)

    assert violated_assumptions_of_run(facts(strikes=[HEALED], died={"worker-1": 1}), history, {}) == []


@pytest.mark.parametrize(
    ("events", "doubt"),
    [
        ([*SOUND[:2], final(cancelled=["a"])], "a: listed as cancelled, and nobody cancelled it"),
        ([*SOUND[:2], final(expired=["a"])], "a: listed as expired, and had no deadline"),
        ([*SOUND[:2], final(done=["a"])], "a: listed as done, and never ran"),
        ([*SOUND[:2], SOUND[3], SOUND[5]], "a: an effect, and no attempt recorded"),
        ([SOUND[2] | {"t_s": 0.5}, *SOUND[:2], *SOUND[3:]], "a: ran before it was submitted"),
    ],
)
def test_what_nobody_asked_for_and_nothing_shows_is_doubted(events: list[dict[str, Any]], doubt: str) -> None:
    assert violated_assumptions(history_of(*events)) == [doubt]


def test_what_was_asked_for_is_not_doubted() -> None:
    cancel = {"t_s": 1.5, "actor": "client", "event": "cancel.invoke", "task": "a"}
    late = SOUND[0] | {"deadline_s": 1.2}

    assert violated_assumptions(history_of(*SOUND[:2], cancel, final(cancelled=["a"]))) == []
    assert violated_assumptions(history_of(late, SOUND[1], final(expired=["a"]))) == []


def test_many_tasks_are_one_doubt() -> None:
    submitted = [event | {"task": f"t{n}"} for n in range(5) for event in SOUND[:2]]

    (doubt,) = violated_assumptions(history_of(*submitted, final(cancelled=[f"t{n}" for n in range(5)])))

    assert doubt == "t0, t1, t2 (and 2 more): listed as cancelled, and nobody cancelled it"


@pytest.mark.parametrize(
    ("struck", "doubt"),
    [
        (strike(begun_ns=1), "fault process_killed on worker-1 has no time at which it bit and was healed"),
        (strike(begun_ns=1, bit_ns=2), "fault process_killed on worker-1 has no time at which it bit and was healed"),
        (
            strike(begun_ns=1, bit_ns=3 * NS_PER_S, healed_ns=4 * NS_PER_S),
            "fault process_killed on worker-1 bit when all work was done",
        ),
    ],
)
def test_a_strike_that_proves_nothing_is_doubted(struck: FaultRecord, doubt: str) -> None:
    assert violated_assumptions_of_run(facts(strikes=[struck]), history_of(*SOUND, *steps_of(struck)), {}) == [doubt]


def test_a_drawn_fault_that_comes_late_or_never_says_nothing_of_the_others() -> None:
    late = strike(begun_ns=1, bit_ns=3 * NS_PER_S, healed_ns=4 * NS_PER_S)

    assert (
        violated_assumptions_of_run(
            facts(strikes=[late], faults_may_miss=True), history_of(*SOUND, *steps_of(late)), {}
        )
        == []
    )


WORKER = msgspec.structs.replace(HEALED, roles=("worker",))


@pytest.mark.parametrize("fault", ["process_killed", "process_paused"])
def test_a_struck_worker_that_was_never_seen_at_work_is_doubted(fault: str) -> None:
    """Another process may have done all the work: the one that was struck is told of by the lab alone."""
    struck = msgspec.structs.replace(WORKER, fault=fault)
    history = history_of(*SOUND, *steps_of(struck), CRASH, CRASH | {"event": "restart"})

    doubts = violated_assumptions_of_run(
        facts(strikes=[struck]), history, {"history.worker-10.7.jsonl": 9, "history.worker-1.8.jsonl": 0}
    )

    assert doubts == [f"fault {fault} struck worker-1, of which nothing was ever seen"]


@pytest.mark.parametrize(
    ("struck", "events", "sizes"),
    [
        pytest.param(WORKER, [SOUND[2] | {"actor": "worker-1"}], {}, id="seen"),
        pytest.param(WORKER, [], {"history.worker-1.77.jsonl": 9}, id="seen in what was prefiltered out"),
        pytest.param(msgspec.structs.replace(WORKER, roles=("api", "relay")), [], {}, id="runs no handlers"),
        pytest.param(msgspec.structs.replace(WORKER, fault="network_degraded"), [], {}, id="struck at its link"),
    ],
)
def test_a_struck_process_that_was_seen_or_need_not_be_is_not_doubted(
    struck: FaultRecord, events: list[dict[str, Any]], sizes: dict[str, int]
) -> None:
    history = history_of(*SOUND, *events, *steps_of(struck))

    assert violated_assumptions_of_run(facts(strikes=[struck]), history, sizes) == []


def test_faults_of_which_run_and_history_say_different_things_are_doubted() -> None:
    steps = steps_of(HEALED)

    unhealed = violated_assumptions_of_run(facts(strikes=[HEALED]), history_of(*SOUND, *steps[:3]), {})
    unknown = violated_assumptions_of_run(facts(), history_of(*SOUND, *steps[:2]), {})
    other = violated_assumptions_of_run(
        facts(strikes=[HEALED]), history_of(*SOUND, *({**step, "fault": "x"} for step in steps)), {}
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
    history = history_of(*SOUND, *steps_of(HEALED), CRASH, CRASH)

    assert violated_assumptions_of_run(facts(strikes=[HEALED], died=died), history, {}) == doubts


def test_with_a_doubt_nothing_is_held_and_what_is_proven_is_broken() -> None:
    twice = history_of(*SOUND[:5], SOUND[3] | {"t_s": 3.0}, SOUND[5])

    held = judge(Recorded(history_of(*SOUND)), claims=CLAIMS, policy=NO_POLICY)
    doubted = judge(Recorded(history_of(*SOUND)), claims=CLAIMS, policy=NO_POLICY, violated=["something"])
    broken = judge(Recorded(twice), claims=CLAIMS, policy=NO_POLICY, violated=["something"])

    assert (held.exit_code, doubted.exit_code, broken.exit_code) == (EXIT_HELD, EXIT_UNKNOWN, EXIT_BROKEN)
    assert {verdict.ruling for verdict in doubted.verdicts} == {Ruling.UNKNOWN}
    assert doubted.problems == ("something",)


def test_a_fault_that_was_never_seen_to_bite_is_a_problem_of_the_run() -> None:
    begun = {"t_s": 1.5, "actor": "lab", "event": "fault.begin", "fault": "service_killed", "target": "mysql"}
    unbitten = history_of(*SOUND[:2], begun, *SOUND[2:])

    judgement = judge(Recorded(unbitten), claims=CLAIMS, policy=NO_POLICY)

    assert judgement.problems == ("fault service_killed on mysql was never seen to bite",)
    assert {(one.ruling, one.reason) for one in judgement.verdicts} == {(Ruling.UNKNOWN, judgement.problems[0])}


def test_promises_that_nothing_put_to_the_test_are_no_success() -> None:
    untested = judge(Recorded(history_of(*SOUND)), claims=[Guarantee.ORDER_KEPT], policy=NO_POLICY)

    assert [verdict.ruling for verdict in untested.verdicts] == [Ruling.HELD]
    assert untested.exit_code == EXIT_UNKNOWN


def write_run(path: Path) -> RunDirectory:
    directory = RunDirectory(path)
    directory.create()
    for name, events in (
        ("client", SOUND[:2]),
        ("worker", [SOUND[2], SOUND[4]]),
        ("outside", [SOUND[3]]),
        ("lab", SOUND[5:]),
    ):
        (path / f"history.{name}.jsonl").write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    directory.seal(facts())
    return directory


def test_files_that_are_not_what_the_run_left_are_doubted(tmp_path: Path) -> None:
    directory = write_run(tmp_path)
    assert judge_run(directory).exit_code == EXIT_HELD

    worker = tmp_path / "history.worker.jsonl"
    whole = worker.read_bytes()
    worker.write_bytes(whole.splitlines(keepends=True)[0])
    assert "had 149 bytes" in judge_run(directory).problems[0]

    worker.unlink()
    assert any(
        "history.worker.jsonl had 149 bytes when the run ended, and is gone now" in p
        for p in judge_run(directory).problems
    )

    worker.write_bytes(whole)
    (tmp_path / "history.worker.copy.jsonl").write_bytes(whole)
    assert "history.worker.copy.jsonl was not there when the run ended" in judge_run(directory).problems
