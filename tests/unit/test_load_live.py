"""What is told of a load while it goes on: the lab's figures, the rows of Locust's tab, and how the lab follows the generator."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from chaos.faults import KillService
from loadtests.exchange_files import read_live
from loadtests.reliability import rows
from scenarios.contract.system import Account, Outcome
from scenarios.experiment.outside import OutsideCounts
from scenarios.experiment.run import Experiment
from scenarios.experiment.scenario import AtStart, Strike
from scenarios.experiment.strike_state import StrikeState
from scenarios.experiment.submissions import Submissions
from scenarios.real import live as live_module
from scenarios.real.flows import ThreadSignal
from scenarios.real.live import LiveFigures
from scenarios.real.stage import RealStage
from scenarios.record.run_facts import Live, LiveFault
from scenarios.stored.rundir import RunDirectory
from tasklab.running.locust_driver import Follower
from tests.thread_stage import Events

SECOND_NS = 1_000_000_000


@pytest.fixture(autouse=True)
def only_the_last_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "EVERY_S", 3600.0)


@dataclass(slots=True)
class FakeOutside:
    tallies: list[OutsideCounts]

    def counts(self) -> OutsideCounts:
        return self.tallies.pop(0)


@dataclass(slots=True)
class FakeNemesis:
    states: list[StrikeState] = field(default_factory=list)


@dataclass(slots=True)
class FakeRun:
    """What live figures need of a stage and its experiment; `answers`: the accounts that the system gives, one after the other."""

    directory: RunDirectory
    submissions: Submissions
    outside: FakeOutside
    answers: list[Account | Exception]
    nemesis: FakeNemesis = field(default_factory=FakeNemesis)
    said: list[str] = field(default_factory=list)

    def now_ns(self) -> int:
        return 0

    def account(self) -> Account:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def say(self, text: str) -> None:
        self.said.append(text)


def no_submissions() -> Submissions:
    return Submissions(Events(), lambda: 0, ThreadSignal())


def run_with(place: Path, *, tallies: list[OutsideCounts], answers: list[Account | Exception]) -> FakeRun:
    return FakeRun(RunDirectory(place), no_submissions(), FakeOutside(tallies), answers)


def last_figures(run: FakeRun, *, submitted: int = 0) -> Live | None:
    """What live.json says after the figures were stopped, before the first second was over."""
    figures = LiveFigures(cast(RealStage, run), cast(Experiment, run), 10, lambda: submitted)
    run.submissions.note("warm-up", Outcome("ok", id="w"))
    figures.start()
    for task, kind in (("a", "ok"), ("b", "ok"), ("c", "ok"), ("d", "fail"), ("e", "info")):
        run.submissions.note(task, Outcome(cast(Any, kind)))
    figures.stop()
    return read_live(run.directory.path)


def test_the_figures_are_of_the_load_alone_and_count_what_no_list_names_as_missing(tmp_path: Path) -> None:
    account = Account(done=("a", "warm-up"), dead=(), cancelled=(), expired=(), pending=("e",))
    run = run_with(
        tmp_path,
        tallies=[OutsideCounts(effects=1), OutsideCounts(effects=4, duplicates=1, repeats=2)],
        answers=[account],
    )
    run.nemesis.states.append(
        StrikeState(Strike(KillService("rabbitmq"), AtStart()), KillService("rabbitmq"), target="rabbitmq")
    )

    live = last_figures(run, submitted=6)

    assert live is not None
    assert msgspec.structs.replace(live, t_ns=0, read_s=0.0) == Live(
        t_ns=0,
        read_s=0.0,
        planned=10,
        submitted=6,
        acknowledged=3,
        refused=1,
        unknown=1,
        effects=3,
        duplicates=1,
        repeats=2,
        done=1,
        dead=0,
        pending=1,
        missing=2,
        faults=(LiveFault("service_killed", "rabbitmq", "waiting"),),
        over=True,
    )


def test_what_a_system_cannot_say_stays_unsaid(tmp_path: Path) -> None:
    run = run_with(tmp_path, tallies=[OutsideCounts(), OutsideCounts()], answers=[Account(done=("a",))])

    live = last_figures(run)

    assert live is not None
    assert (live.done, live.dead, live.pending, live.missing) == (1, None, None, None)


def test_an_account_that_cannot_be_read_is_no_reason_to_stop(tmp_path: Path) -> None:
    run = run_with(tmp_path, tallies=[OutsideCounts()], answers=[ConnectionError("the database is struck")])

    assert last_figures(run) is None


@pytest.mark.parametrize(
    ("reached", "stage"),
    [
        ({}, "waiting"),
        ({"begun_ns": 1}, "begun"),
        ({"begun_ns": 1, "bit_ns": 2}, "bitten"),
        ({"begun_ns": 1, "bit_ns": 2, "ended_ns": 3}, "lifted"),
        ({"begun_ns": 1, "bit_ns": 2, "ended_ns": 3, "healed_ns": 4}, "healed"),
        ({"begun_ns": 1, "problem": "it did not bite"}, "failed"),
    ],
)
def test_a_fault_is_told_by_how_far_it_has_come(reached: dict[str, Any], stage: str, tmp_path: Path) -> None:
    run = run_with(tmp_path, tallies=[OutsideCounts(), OutsideCounts()], answers=[Account()])
    run.nemesis.states.append(
        StrikeState(Strike(KillService("redis"), AtStart()), KillService("redis"), target="redis", **reached)
    )

    live = last_figures(run)

    assert live is not None
    assert live.faults == (LiveFault("service_killed", "redis", stage),)


LIVE = Live(
    t_ns=5 * SECOND_NS,
    read_s=0.25,
    planned=100,
    submitted=60,
    acknowledged=58,
    refused=1,
    unknown=1,
    effects=50,
    duplicates=0,
    repeats=3,
    done=50,
    dead=2,
    pending=6,
    missing=0,
)


def told(live: Live | None, now_ns: int = 7 * SECOND_NS) -> dict[str, tuple[str, str]]:
    return {row["figure"]: (row["now"], row["meaning"]) for row in rows(live, now_ns)}


def test_the_tab_shows_every_figure() -> None:
    shown = {figure: now for figure, (now, _) in told(LIVE).items()}

    assert shown == {
        "Submitted": "60 of 100",
        "Done": "50",
        "Losses so far": "0",
        "Duplicates": "0",
        "Dead letters": "2",
        "Faults": "none planned",
        "Figures": "so far",
        "Acknowledged": "58",
        "Pending": "6",
        "Refused": "1",
        "Unknown": "1",
        "Effects": "50",
        "Repeated attempts": "3",
    }


def test_the_rows_keep_their_order_when_they_are_sorted_by_name() -> None:
    shown = rows(LIVE, 0)

    assert sorted(shown, key=lambda row: row["name"]) == shown


def test_the_tab_says_how_old_its_figures_are() -> None:
    assert told(LIVE)["Figures"] == ("so far", "2.0 s old; reading them took 0.25 s.")


def test_the_last_figures_do_not_age() -> None:
    now, meaning = told(msgspec.structs.replace(LIVE, over=True))["Figures"]

    assert now == "final"
    assert "old" not in meaning


def test_losses_and_duplicates_stand_out() -> None:
    shown = told(msgspec.structs.replace(LIVE, missing=1, duplicates=2))

    assert shown["Losses so far"][1].startswith("⚠")
    assert shown["Duplicates"][1].startswith("⚠")
    assert not any(meaning.startswith("⚠") for _, meaning in told(LIVE).values())


def test_what_nobody_can_say_is_a_dash() -> None:
    shown = told(msgspec.structs.replace(LIVE, missing=None, pending=None))

    assert (shown["Losses so far"][0], shown["Pending"][0]) == ("–", "–")


def test_before_there_are_figures_the_tab_says_so() -> None:
    assert told(None) == {"Waiting": ("–", "The lab has not written any figures yet.")}


def append(file: Path, text: str) -> None:
    with file.open("a") as history:
        history.write(text)


def line(event: str, task: str, **fields: str) -> str:
    return json.dumps({"t_ns": 1, "actor": "load", "event": event, "task": task, **fields}) + "\n"


def test_the_lab_follows_the_generator_line_by_line_and_leaves_half_a_line_for_the_next_time(tmp_path: Path) -> None:
    file = tmp_path / "history.load.jsonl"
    submissions = no_submissions()
    follower = Follower(file, submissions)
    follower.catch_up()  # there is no file yet
    last = line("submit.ok", "load-3", id="third")

    append(file, line("submit.invoke", "load-1") + line("submit.ok", "load-1", id="first"))
    append(file, line("submit.invoke", "load-2") + line("submit.info", "load-2", detail="timed out") + last[:20])
    follower.catch_up()

    assert follower.sent == 2
    assert submissions.outcomes == {"load-1": "ok", "load-2": "info"}
    assert submissions.ids == {"load-1": "first"}

    append(file, last[20:] + line("submit.fail", "load-4", detail="refused"))
    follower.catch_up()

    assert submissions.outcomes == {"load-1": "ok", "load-2": "info", "load-3": "ok", "load-4": "fail"}
    assert submissions.ids == {"load-1": "first", "load-3": "third"}
