"""The report of a load test says what was offered and how it was answered; that of any other run says nothing about a load."""

import re
from pathlib import Path

import msgspec

from reports.build import build_report
from scenarios.record.run_facts import LoadFigures, Percentiles
from scenarios.stored.rundir import RunDirectory
from tests import sample_runs

FIGURES = LoadFigures(
    planned=4000,
    sent=3990,
    on_time=3985,
    acknowledged=3989,
    refused=0,
    unknown=1,
    planned_per_s=200,
    offered_per_s=199.5,
    latest_s=0.12,
    answers=Percentiles(0.011, 0.026, 0.5, 2.5),
    effects=None,
    without_effect=3989,
    backlog=1234,
    caught_up_s=0.0,
)


def words_of(run: Path) -> str:
    page = build_report([run])
    found = re.search(r'<p class="load">(.*?)</p>', page, re.DOTALL)
    return "" if found is None else " ".join(found[1].split())


def test_the_report_of_a_load_test_says_what_was_offered_and_how_it_was_answered(tmp_path: Path) -> None:
    run = sample_runs.held(tmp_path / "run")
    directory = RunDirectory(run)
    directory.write_facts(msgspec.structs.replace(directory.read_facts(), load=FIGURES))

    assert words_of(run) == (
        "Load: 3,990 of 4,000 submissions sent, 199.5/s of 200/s. "
        "Time from the due instant to the answer: median 11 ms, 95 % 26 ms, 99 % 500 ms, maximum 2.50 s; to the effect: none. "
        "1,234 tasks without an effect when the load ended."
    )


def test_the_report_of_another_run_says_nothing_about_a_load(tmp_path: Path) -> None:
    assert words_of(sample_runs.held(tmp_path / "run")) == ""
