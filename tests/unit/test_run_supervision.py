"""The supervisor tells the truth about processes that end by themselves, and knows when to give up."""

from pathlib import Path
from typing import Any

from chaos.environment import ProcessSpec
from chaos.errors import ProcessFailed
from scenarios.experiment.supervision import RESTART_AFTER_S, RESTARTS_MAX, Supervisor


class FakeProcess:
    spec = ProcessSpec("worker-1", "worker", ["worker"])
    pid = 1
    log = Path("worker-1.log")

    def __init__(self) -> None:
        self.alive = True

    def is_alive(self) -> bool:
        return self.alive

    def exit_code(self) -> int | None:
        return None if self.alive else 7


class Restarts:
    """An environment in which a restart helps, does nothing, or fails."""

    def __init__(self, *, helps: bool = True, error: str = "") -> None:
        self._helps = helps
        self._error = error

    def restart_process(self, process: FakeProcess) -> None:
        if self._error:
            raise ProcessFailed("worker-1", self._error)
        process.alive = self._helps


class Events:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def record(self, event: str, **fields: Any) -> None:
        self.seen.append(event)


def supervise(environment: Restarts, *, struck: set[str] | None = None) -> tuple[Supervisor, FakeProcess, Events]:
    process, events = FakeProcess(), Events()
    supervisor = Supervisor(
        environment,  # type: ignore[arg-type]
        {"worker-1": process},
        events,  # type: ignore[arg-type]
        lambda: struck or set(),
        lambda _: None,
    )
    return supervisor, process, events


def look_often(supervisor: Supervisor, times: int) -> None:
    for number in range(times):
        supervisor.look(number * (RESTART_AFTER_S + 0.01))


def test_a_process_that_ends_by_itself_is_started_again_once_and_both_are_in_the_history() -> None:
    supervisor, process, events = supervise(Restarts())
    process.alive = False

    look_often(supervisor, 6)

    assert events.seen == ["crash", "restart"]
    assert process.alive
    assert supervisor.problems == []
    assert supervisor.died == {"worker-1": 1}


def test_it_waits_before_it_starts_a_process_again() -> None:
    supervisor, process, events = supervise(Restarts())
    process.alive = False

    supervisor.look(0.0)
    supervisor.look(RESTART_AFTER_S / 2)

    assert events.seen == ["crash"]
    assert not process.alive


def test_a_process_that_a_strike_holds_down_is_the_strikes() -> None:
    supervisor, process, events = supervise(Restarts(), struck={"worker-1"})
    process.alive = False

    look_often(supervisor, 4)

    assert events.seen == []


def test_a_process_that_never_stays_up_is_given_up_with_a_problem_and_no_invented_crash() -> None:
    supervisor, process, events = supervise(Restarts(helps=False))
    process.alive = False

    look_often(supervisor, 100)

    assert events.seen.count("crash") == supervisor.died["worker-1"] == RESTARTS_MAX + 1
    assert events.seen.count("restart") == RESTARTS_MAX
    assert len(supervisor.problems) == 1
    assert "worker-1 has ended by itself 11 times (exit code 7)" in supervisor.problems[0]


def test_a_restart_that_fails_is_a_problem_of_the_lab_and_not_tried_for_ever() -> None:
    supervisor, process, events = supervise(Restarts(error="no such program"))
    process.alive = False

    look_often(supervisor, 10)

    assert events.seen == ["crash", "restart"]
    assert supervisor.problems == ["process worker-1: no such program"]
