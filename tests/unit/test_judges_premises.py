"""Without the thing that a scenario is about, its run is unknown, in one sentence that says what to change; broken stays broken."""

from pathlib import Path
from typing import Any

import pytest

from scenarios.judging.premise import Premise
from scenarios.judging.premises import (
    CancelledInTime,
    DeadlinePassed,
    DiedOfTask,
    EnoughWork,
    LeaseOutlasted,
    Seen,
    stated_premises,
    unmet_premises,
)
from scenarios.judging.premises_of_strikes import (
    AckOfKnownTask,
    FailedDuring,
    KilledAfterEffect,
    LockTakenOver,
    LostAtWork,
    OpenDuring,
    StruckAtWork,
    TaskTakenOver,
    Waiting,
    WorkDuring,
)
from scenarios.judging.verdict import Ruling
from scenarios.lookup import find_scenario, scenario_names
from scenarios.record.history import NS_PER_S, History
from scenarios.record.run_facts import FaultRecord, RunFacts, WorkFigures
from scenarios.stored.judge_files import judge_run
from scenarios.stored.rundir import RunDirectory
from tests.histories import history, json_lines

CAUGHT = """
    0.1  client    submit.invoke  a
    0.2  client    submit.ok      a
    1.0  worker-1  attempt.start  a  attempt=1
"""
TAKEN_OVER = "4.5  worker-2  attempt.start  a  attempt=2"
DONE = "9.0  lab  final  done=a"


def strike(fault: str, **more: Any) -> FaultRecord:
    instants = dict.fromkeys(("begun_ns", "bit_ns"), 2 * NS_PER_S) | dict.fromkeys(
        ("ended_ns", "healed_ns"), 5 * NS_PER_S
    )
    return FaultRecord(fault=fault, target="worker-1", when="", **instants, **more)


def facts(*strikes: FaultRecord, **more: Any) -> RunFacts:
    return RunFacts(
        scenario="s",
        system="acme",
        environment="e",
        seed=1,
        repeat="",
        strikes=list(strikes),
        faults_may_miss=True,
        **more,
    )


def unmet(premise: Premise, run: RunFacts, seen: History) -> list[str]:
    """As the judge of a stored run asks it: by what run.json holds of it."""
    run.premises = stated_premises([premise])
    return unmet_premises(seen, run)


PAUSED = strike("process_paused")
KILLED = strike("process_killed")
SWALLOWED = strike("ack_swallowed")


@pytest.mark.parametrize(
    ("premise", "run", "met", "missed", "sentence"),
    [
        (
            TaskTakenOver(),
            facts(PAUSED),
            f"{CAUGHT}\n{TAKEN_OVER}",
            CAUGHT,
            "no attempt took over the task of worker-1 during its pause: acme states no lease; "
            "state one (Pace.lease_s), so that the pause outlasts it",
        ),
        (
            TaskTakenOver(),
            facts(PAUSED, pace={"lease_s": 2.0}),
            f"{CAUGHT}\n{TAKEN_OVER}",
            f"{CAUGHT}\n5.1 worker-1 attempt.fail a attempt=1 error=transient\n5.2 worker-2 attempt.start a attempt=2",
            "no attempt took over the task of worker-1 during its pause: "
            "state a lease (Pace.lease_s, now 2 s) that is as long as the system's own",
        ),
        (
            LockTakenOver(),
            facts(PAUSED, pace={"lock_s": 2.0}),
            "1.0 worker-1 lease.acquired resource=lock:sweep ttl_s=2\n4.5 worker-2 lease.acquired resource=lock:sweep ttl_s=2",
            "1.0 worker-1 lease.acquired resource=lock:sweep ttl_s=2\n4.5 worker-1 lease.released resource=lock:sweep",
            "no lock that worker-1 held was acquired again after its pause: "
            "state a duration (Pace.lock_s, now 2 s) that is as long as the lock's own, and report its leases",
        ),
        (
            KilledAfterEffect(),
            facts(KILLED),
            f"{CAUGHT}\n1.5 worker-1 effect a attempt=1",
            f"{CAUGHT}\n1.5 worker-1 effect a attempt=1\n1.6 worker-1 attempt.ok a attempt=1",
            "when worker-1 was killed, no task of it had an accepted effect and an attempt without a recorded end: "
            "let each handler run its task through tasklab_probe.run_task",
        ),
        (
            AckOfKnownTask(),
            facts(SWALLOWED),
            f"{CAUGHT}\n2.0 broker ack.info a attempt=1",
            CAUGHT,
            "the acknowledgement that worker-1 lost belongs to no known task, and no task ran again: "
            "put the task's name or its id into the message",
        ),
        (
            OpenDuring("service_paused"),
            facts(strike("service_paused")),
            "1.9 client submit.invoke a\n9 lab final pending=a",
            "1.8 client submit.invoke a\n1.9 client submit.ok a\n9 lab final pending=a",
            "no submission was under way while service_paused was on: submit more tasks a second, or let the fault last longer",
        ),
        (
            OpenDuring("service_paused"),
            facts(strike("service_paused")),
            "1.9 client submit.invoke a\n5.1 client submit.ok a",
            "1.8 client submit.invoke a\n1.9 client submit.ok a\n5.1 client submit.invoke b\n5.2 client submit.ok b",
            "no submission was under way while service_paused was on: submit more tasks a second, or let the fault last longer",
        ),
        (
            Waiting("keys_flushed"),
            facts(strike("keys_flushed")),
            "0.1 client submit.invoke a\n1.9 client submit.ok a\n3.0 worker-1 attempt.start a attempt=1",
            CAUGHT,
            "0 acknowledged tasks had not begun when keys_flushed bit, and at least 1 are needed: submit more tasks a second, or let them "
            "work longer",
        ),
        (
            FailedDuring("service_killed"),
            facts(strike("service_killed")),
            f"{CAUGHT}\n2.5 worker-1 attempt.fail a attempt=1 error=transient",
            f"{CAUGHT}\n2.5 worker-1 attempt.ok a attempt=1",
            "0 attempts failed while service_killed was on, and at least 1 are needed: let more tasks fail, or let the fault last longer",
        ),
        (
            StruckAtWork("process_stopped"),
            facts(strike("process_stopped")),
            CAUGHT,
            f"{CAUGHT}\n1.6 worker-1 attempt.ok a attempt=1",
            "no task was running in worker-1 when process_stopped struck: submit more tasks a second, or let them work longer; and let "
            "each handler run its task through tasklab_probe.run_task",
        ),
        (
            LostAtWork("child_killed"),
            facts(strike("child_killed")),
            CAUGHT,
            f"{CAUGHT}\n1.6 worker-1 attempt.ok a attempt=1",
            "worker-1 lost no running task: let each handler run its task through tasklab_probe.run_task",
        ),
        (
            LostAtWork(),
            facts(strike("process_lost")),
            CAUGHT,
            f"{CAUGHT}\n1.6 worker-1 attempt.ok a attempt=1",
            "worker-1 lost no running task: let each handler run its task through tasklab_probe.run_task",
        ),
        (
            LeaseOutlasted(),
            facts(pace={"lease_s": 0.5}),
            f"{CAUGHT}\n1.6 worker-1 attempt.ok a attempt=1",
            f"{CAUGHT}\n1.4 worker-1 attempt.ok a attempt=1",
            "the longest attempt lasted 0.4 s, no longer than a lease of 0.5 s: let the handler work for the time "
            "that its payload states, or state the lease (Pace.lease_s) that the system has",
        ),
        (
            Seen("attempt.fail", 1, error="permanent"),
            facts(),
            f"{CAUGHT}\n1.6 worker-1 attempt.fail a attempt=1 error=permanent",
            f"{CAUGHT}\n1.6 worker-1 attempt.fail a attempt=1 error=transient",
            "0 events attempt.fail (permanent) were recorded, and at least 1 are needed: the workload did not come to what the "
            "scenario is about; let the plug-in carry out what its capabilities state, or submit more tasks",
        ),
        (
            DiedOfTask(),
            facts(),
            f"{CAUGHT}\n1.5 worker-1 crash",
            CAUGHT,
            "no process ended by itself with a task in hand: let each handler run its task, in the worker's process, through "
            "tasklab_probe.run_task",
        ),
        (
            DiedOfTask(),
            facts(died={"sidecar": 2, "worker-1": 0}),
            "1 sidecar attempt.start a",
            f"{CAUGHT}\n1.5 sidecar crash",
            "no process ended by itself with a task in hand: let each handler run its task, in the worker's process, through "
            "tasklab_probe.run_task",
        ),
        (
            LeaseOutlasted(),
            facts(pace={"lease_s": 0.01}),
            f"{CAUGHT}\n1.6 worker-1 attempt.ok a attempt=1",
            f"0.9 worker-1 lease.acquired resource=a ttl_s=5\n{CAUGHT}\n1.6 worker-1 attempt.ok a attempt=1",
            "the longest attempt lasted 0.6 s, no longer than a lease of 5 s: let the handler work for the time "
            "that its payload states, or state the lease (Pace.lease_s) that the system has",
        ),
        (
            CancelledInTime(),
            facts(),
            f"{CAUGHT}\n1.5 client cancel.ok a\n1.6 worker-1 attempt.ok a attempt=1",
            f"{CAUGHT}\n1.6 worker-1 attempt.ok a attempt=1\n1.7 client cancel.ok a",
            "0 tasks were cancelled before they were done, and at least 1 are needed: answer ok to the cancellation "
            "of a task that waits, or let tasks wait longer (fewer workers, more tasks a second)",
        ),
        (
            DeadlinePassed(),
            facts(),
            f"0.2 client submit.ok a deadline_s=1.5\n{CAUGHT}\n1.6 worker-1 attempt.ok a attempt=1",
            f"0.2 client submit.ok a deadline_s=1.7\n{CAUGHT}\n1.6 worker-1 attempt.ok a attempt=1\n9 lab final done=a",
            "the deadlines of 0 tasks passed before the tasks were done, and at least 1 are needed: let tasks wait "
            "longer (fewer workers, more tasks a second)",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Premise) else "",
)
def test_a_premise_is_met_by_what_it_names_and_by_nothing_less(
    premise: Premise, run: RunFacts, met: str, missed: str, sentence: str
) -> None:
    assert unmet(premise, run, history(met)) == []
    assert unmet(premise, run, history(missed)) == [sentence]


def test_a_fault_during_which_nothing_was_tried_struck_nothing() -> None:
    idle, busy = strike("service_killed", answered=1, attempts=1), strike("service_killed", answered=2, attempts=1)
    waiting = strike("service_killed", answered=0, attempts=0, under_way=3)
    premise = WorkDuring("service_killed", at_least=3)

    assert unmet(premise, facts(busy), history(CAUGHT)) == []
    assert unmet(premise, facts(waiting), history(CAUGHT)) == []
    assert unmet(premise, facts(strike("service_killed", waiting=9)), history(CAUGHT)) != []
    or_waited = WorkDuring("service_killed", at_least=3, or_waited=True)
    assert unmet(or_waited, facts(strike("service_killed", waiting=3)), history(CAUGHT)) == []
    assert unmet(or_waited, facts(strike("service_killed", waiting=2)), history(CAUGHT)) != []
    assert unmet(premise, facts(idle), history(CAUGHT)) == [
        "2 submissions were under way and attempts begun while service_killed was on, and at least 3 are needed: "
        "submit more tasks a second, or let the fault last longer"
    ]


@pytest.mark.parametrize(
    ("work", "why"),
    [
        (None, ""),
        (WorkFigures(submitted=40, acknowledged=4, ended=1), ""),
        (WorkFigures(submitted=3, acknowledged=1, ended=1), ""),
        (WorkFigures(submitted=0, acknowledged=0, ended=0), "no task was submitted after the warm-up"),
        (
            WorkFigures(submitted=40, acknowledged=3, ended=3),
            "3 of 40 tasks submitted after the warm-up were acknowledged",
        ),
        (WorkFigures(submitted=40, acknowledged=40, ended=0), "none of the 40 acknowledged tasks ended"),
    ],
)
def test_a_tenth_of_the_tasks_is_acknowledged_and_one_of_these_ends(work: WorkFigures | None, why: str) -> None:
    sentences = unmet(EnoughWork(), facts(work=work), history(CAUGHT))

    assert [why in sentence for sentence in sentences] == [True] * bool(why)


def test_a_premise_of_another_version_is_named_and_not_passed_over() -> None:
    run = facts(premises=[{"premise": "TwoMoons"}, {"premise": "WorkDuring", "moons": 2}])

    assert unmet_premises(history(CAUGHT), run) == [
        "run.json states an unknown premise: TwoMoons; judge the run with the version of the lab that wrote it",
        "run.json states an unknown premise: WorkDuring; judge the run with the version of the lab that wrote it",
    ]


@pytest.mark.parametrize("name", scenario_names())
def test_every_scenario_of_the_catalogue_states_a_premise(name: str) -> None:
    assert find_scenario(name).premises


@pytest.mark.parametrize(
    ("end", "rulings"),
    [
        ("9.0  lab  final  done=a", {Ruling.UNKNOWN}),
        ("9.0  lab  final  done=", {Ruling.BROKEN, Ruling.UNKNOWN}),
    ],
    ids=["nothing is held", "what is broken is broken"],
)
def test_a_run_that_does_not_meet_its_premise_holds_nothing(tmp_path: Path, end: str, rulings: set[Ruling]) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.create()
    ended = "1.1 outside effect a attempt=1\n1.2 worker-1 attempt.ok a attempt=1"
    (directory.path / "history.all.jsonl").write_bytes(json_lines(CAUGHT, ended * (Ruling.BROKEN not in rulings), end))
    run = facts(
        claims=["no_lost_task", "exactly_one_effect"], premises=stated_premises([TaskTakenOver()]), finished=True
    )
    directory.write_facts(run)

    judgement = judge_run(directory)

    assert {verdict.ruling for verdict in judgement.verdicts} == rulings
    assert judgement.problems == (
        "no attempt took over the task of a process during its pause: acme states no lease; "
        "state one (Pace.lease_s), so that the pause outlasts it",
    )
