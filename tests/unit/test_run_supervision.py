"""The supervisor tells the truth about processes that end by themselves, and knows when to give up."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from chaos.environment import ProcessSpec
from scenarios.experiment import supervision
from scenarios.experiment.stage import Death
from scenarios.experiment.supervision import RESTARTS_MAX, Supervisor
from scenarios.real.watcher import LINES, Watcher, last_lines
from scenarios.record.run_facts import DeathRecord
from tests.thread_stage import ThreadStage, death


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "RESTART_AFTER_S", 0.0)


def supervise(stage: ThreadStage, *, struck: frozenset[str] = frozenset()) -> Supervisor:
    return Supervisor(stage, struck.__contains__)  # type: ignore[arg-type]


def die(supervisor: Supervisor, stage: ThreadStage, times: int = 1) -> None:
    """The worker ends by itself, so often; each time the supervisor has its time."""
    for _ in range(times):
        stage.alive.discard("worker-1")
        supervisor.note_death(death("worker-1", seen_alive_ns=0))
        for restart in supervisor._restarts:
            restart.join()


def test_a_process_that_ends_by_itself_is_started_again_once_and_both_are_in_the_history() -> None:
    stage = ThreadStage()
    supervisor = supervise(stage)

    die(supervisor, stage)

    assert stage.events.names == ["crash", "restart"]
    assert "worker-1" in stage.alive
    assert (supervisor.problems, dict(supervisor.died)) == ([], {"worker-1": 1})


def test_a_crash_lies_between_the_last_look_at_the_living_and_the_first_at_the_dead() -> None:
    stage = ThreadStage()

    die(supervise(stage), stage)

    crash = stage.events.recorded[0]
    assert (crash["asked_ns"], crash["detail"]) == (0, "exit code 7")
    assert crash["asked_ns"] < crash["t_ns"]


def test_it_waits_before_it_starts_a_process_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "RESTART_AFTER_S", 3600.0)
    stage = ThreadStage()
    stage.alive.clear()
    supervisor = supervise(stage)

    supervisor.note_death(death("worker-1"))
    supervisor.stop()

    assert stage.events.names == ["crash"]
    assert stage.alive == set()


def test_a_process_that_a_fault_holds_down_is_the_faults() -> None:
    stage = ThreadStage()

    die(supervise(stage, struck=frozenset({"worker-1"})), stage, 4)

    assert stage.events.names == []


def test_deaths_that_were_planned_do_not_count_against_a_process() -> None:
    """Dramatiq's default allows 21 attempts, so a task that kills its process each time ended both workers for good (poison_tasks)."""
    stage = ThreadStage()
    supervisor = Supervisor(stage, lambda process: False, planned={"worker-1": 2}.__getitem__)  # type: ignore[arg-type]

    die(supervisor, stage, RESTARTS_MAX + 2)
    assert supervisor.problems == []
    die(supervisor, stage)

    assert len(supervisor.problems) == 1


def test_a_process_that_never_stays_up_is_given_up_with_a_problem_and_no_invented_crash() -> None:
    stage = ThreadStage()
    supervisor = supervise(stage)

    die(supervisor, stage, RESTARTS_MAX + 1)

    assert stage.events.names.count("crash") == supervisor.died["worker-1"] == RESTARTS_MAX + 1
    assert stage.events.names.count("restart") == RESTARTS_MAX
    assert len(supervisor.problems) == 1
    assert "worker-1 has ended by itself 11 times (exit code 7)" in supervisor.problems[0]


def test_a_restart_that_fails_is_a_problem_of_the_lab_and_not_tried_for_ever() -> None:
    stage = ThreadStage(restart_error="process worker-1: no such program")
    supervisor = supervise(stage)

    die(supervisor, stage)

    assert stage.events.names == ["crash", "restart"]
    assert supervisor.problems == ["process worker-1: no such program"]


@dataclass
class FakeProcess:
    """A process that lives or not."""

    spec = ProcessSpec("worker-1", "worker", ["worker"])
    log = Path("worker-1.log")
    pid: int = 1
    alive: bool = True

    def is_alive(self) -> bool:
        return self.alive

    def exit_code(self) -> int | None:
        return None if self.alive else 7


def test_every_end_of_a_process_is_reported_once_with_the_instant_of_the_look_before() -> None:
    process, deaths, clock = FakeProcess(), list[Death](), iter(range(0, 1000, 10))
    watcher = Watcher({"worker-1": process}, lambda: next(clock), deaths.append)

    watcher.look()  # at 10
    process.alive = False
    watcher.look()
    watcher.look()  # at 30
    process.pid = 2  # started again, and dead again before the next look
    watcher.look()

    assert [(one.how, one.seen_alive_ns) for one in deaths] == [("exit code 7", 10), ("exit code 7", 30)]


def test_the_last_lines_of_a_log_are_kept_beside_the_death(tmp_path: Path) -> None:
    log = tmp_path / "worker-1.log"
    log.write_bytes(b"\n".join(b"line %d" % number for number in range(5000)) + b"\n\n  \nUnrecoverable \xff error\n")
    stage = ThreadStage()
    supervisor = supervise(stage)

    supervisor.note_death(Death("worker-1", "exit code 0", 0, log.name, last_lines(log)))
    supervisor.stop()

    kept = (*(f"line {number}" for number in range(5000 - LINES + 1, 5000)), "Unrecoverable \ufffd error")
    assert supervisor.deaths() == [
        DeathRecord(process="worker-1", times=1, how="exit code 0", log="worker-1.log", last_lines=kept)
    ]
    assert last_lines(tmp_path / "none.log") == ()
