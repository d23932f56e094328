"""The one word and the one sentence on a whole run: never greener than what is known."""

from pathlib import Path

import msgspec
import pytest

from reports.build import sections_of
from reports.ruling import Overall
from scenarios.judging.verdict import Ruling
from scenarios.stored.rundir import VERDICTS_FILE, RunDirectory
from tests import sample_runs


def said_of(run: Path) -> Overall:
    (section,) = sections_of([run])
    return section.overall


def rewrite_verdicts(run: Path, **changes: object) -> None:
    file = run / VERDICTS_FILE
    file.write_bytes(msgspec.json.encode(msgspec.json.decode(file.read_bytes()) | changes))


def test_a_broken_guarantee_is_named_with_the_number_of_its_witnesses(tmp_path: Path) -> None:
    assert said_of(sample_runs.broken(tmp_path / "run")) == Overall(
        Ruling.BROKEN,
        "naive violated 2 of the 5 guarantees it claims, under broker_killed: no_lost_task (1 witness) and "
        "no_stuck_task (112 witnesses).",
    )


def test_all_held_says_how_many_guarantees_the_run_tested(tmp_path: Path) -> None:
    assert said_of(sample_runs.held(tmp_path / "run")) == Overall(
        Ruling.HELD,
        "reference kept all 7 guarantees it claims, under broker_killed; "
        "the run tested 6 of them, 1 was not exercised.",
    )


def test_a_fault_that_missed_is_unknown_and_says_so(tmp_path: Path) -> None:
    assert said_of(sample_runs.undecided(tmp_path / "run")) == Overall(
        Ruling.UNKNOWN,
        "The lab could not tell: fault service_killed on rabbitmq did not bite: it still answers after 5 s.",
    )


def test_a_run_that_was_killed_says_where_its_record_stops(tmp_path: Path) -> None:
    assert said_of(sample_runs.unfinished(tmp_path / "run")) == Overall(
        Ruling.UNKNOWN,
        "This run did not finish: the record stops 5.17 s after it began, in the storm. "
        "Nothing was judged; what was recorded until then is below.",
    )


def test_a_finished_run_without_verdicts_is_not_judged(tmp_path: Path) -> None:
    run = sample_runs.held(tmp_path / "run")
    (run / VERDICTS_FILE).unlink()

    assert said_of(run) == Overall(
        Ruling.UNKNOWN, "The run ended but has not been judged: there is no verdict on any guarantee."
    )


def test_damaged_verdicts_are_none_and_the_report_says_why(tmp_path: Path) -> None:
    run = sample_runs.held(tmp_path / "run")
    (run / VERDICTS_FILE).write_text('{"verdicts": {"no_lost_task": {"verdict": "fine"}}}')

    (section,) = sections_of([run])

    assert section.overall.ruling is Ruling.UNKNOWN
    assert section.problems == (
        "verdicts.json cannot be read: Invalid enum value 'fine' - at `$.verdicts[...].verdict`",
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"problems": ["redis did not heal"]}, "redis did not heal."),
        ({"malformed": ["history.a.jsonl:3: no"]}, "the history is malformed at history.a.jsonl:3: no."),
        ({"verdicts": {}}, "no guarantee was judged."),
        ({"exit_code": 3}, "the checkers ended with exit code 3."),
        ({"exit_code": None}, "the checkers ended with exit code None."),
        (
            {"verdicts": {"no_lost_task": sample_runs.verdict("unknown", "Too little work.")}},
            "no_lost_task is undecided: Too little work.",
        ),
    ],
)
def test_one_objection_is_enough_to_be_unknown(tmp_path: Path, changes: dict[str, object], why: str) -> None:
    run = sample_runs.held(tmp_path / "run")
    rewrite_verdicts(run, **changes)

    assert said_of(run) == Overall(Ruling.UNKNOWN, f"The lab could not tell: {why}")


def test_a_run_judged_before_it_finished_is_unknown(tmp_path: Path) -> None:
    run = sample_runs.held(tmp_path / "run")
    directory = RunDirectory(run)
    facts = directory.read_facts()
    facts.finished = False
    directory.write_facts(facts)

    assert said_of(run) == Overall(Ruling.UNKNOWN, "The lab could not tell: the run did not finish.")


def test_a_malformed_line_on_disk_is_an_objection_even_if_no_judge_saw_it(tmp_path: Path) -> None:
    run = sample_runs.held(tmp_path / "run")
    (run / "history.stranger.1.jsonl").write_text('{"event":"party","actor":"stranger","t_ns":1}\n')

    assert said_of(run) == Overall(
        Ruling.UNKNOWN,
        "The lab could not tell: the history is malformed at history.stranger.1.jsonl:1: unknown event 'party'.",
    )


def test_a_proven_break_stays_broken_beside_a_problem_of_the_lab(tmp_path: Path) -> None:
    run = sample_runs.broken(tmp_path / "run")
    rewrite_verdicts(run, problems=["rabbitmq did not heal"])

    (section,) = sections_of([run])

    assert section.overall.ruling is Ruling.BROKEN
    assert section.problems == ("rabbitmq did not heal",)
