"""The page as text: self-contained, tolerant of what is missing, and proof against what is written into it."""

import ast
import base64
import hashlib
import html
import json
import re
from pathlib import Path

import pytest

import reports
from reports.build import build_report, sections_of, write_report
from reports.embedding import printable, script_json
from reports.matrix import Entry, Inapplicable, Matrix, matrix_of
from reports.reading import NotARun, find_runs, read_run
from reports.ruling import Overall
from scenarios.judging.guarantees import Guarantee
from scenarios.judging.judge import judge
from scenarios.judging.policy import Policy
from scenarios.judging.verdict import Ruling
from scenarios.record.run_facts import DeathRecord
from scenarios.stored.open_tasks import OpenTaskSearch
from scenarios.stored.rundir import OPEN_TASKS_FILE, RunDirectory
from tests import sample_runs


def charts_in(page: str) -> list[dict[str, object]]:
    found = re.search(r'<script type="application/json" id="chart-data">(.*?)</script>', page, re.DOTALL)
    assert found
    charts: list[dict[str, object]] = json.loads(found[1])
    return charts


def body_of(page: str) -> str:
    return page[page.index("<main") : page.index("</main>")]


def test_what_the_judges_write_is_what_the_report_reads(tmp_path: Path) -> None:
    directory = RunDirectory(sample_runs.broken(tmp_path / "run"))
    judged = judge(
        directory.read_history(),
        claims=[Guarantee.NO_LOST_TASK, Guarantee.EXACTLY_ONE_EFFECT],
        policy=Policy(),
        problems=(),
    )
    directory.write_verdicts(judged.to_record())

    (section,) = sections_of([directory.path])

    assert {row.name: row.group for row in section.guarantees} == {
        "no_lost_task": "broken",
        "exactly_one_effect": "held",
    }
    assert section.overall == Overall(
        Ruling.BROKEN, "naive violated 1 of the 2 guarantees it claims, under broker_killed: no_lost_task (1 witness)."
    )
    assert [(journey.task, journey.breaks, journey.rows[-1].text) for journey in section.journeys] == [
        (
            "task-0094",
            ("no_lost_task",),
            "the end (all healed, drained): the account lists it nowhere. "
            "Lost: acknowledged, and in no list of the system; no event of it for 10.1 s.",
        )
    ]
    assert section.balance is not None
    assert section.balance.agrees
    assert len(section.not_claimed) == len(Guarantee) - 2


def test_only_its_own_script_and_style_may_run(tmp_path: Path) -> None:
    page = build_report([sample_runs.held(tmp_path / "run")])

    digest = {
        kind: base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        for kind, content in (
            ("script", re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[0]),
            ("style", re.findall(r"<style>(.*?)</style>", page, re.DOTALL)[0]),
        )
    }
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert policy
    assert html.unescape(policy[1]) == (
        f"default-src 'none'; script-src 'sha256-{digest['script']}'; style-src 'sha256-{digest['style']}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_the_page_carries_the_licence_of_the_library_in_it(tmp_path: Path) -> None:
    page = html.unescape(build_report([sample_runs.held(tmp_path / "run")]))

    licence = (Path(reports.__file__).parent / "vendor" / "uplot" / "LICENSE").read_text(encoding="utf-8")
    assert "Copyright (c) 2022 Leon Sorokin" in licence
    assert licence in page


def test_nothing_that_is_written_into_a_run_becomes_markup(tmp_path: Path) -> None:
    page = build_report([sample_runs.hostile(tmp_path / "run")])

    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<img" not in page
    assert not re.search(r"href=\"(?!#|data:,)", page)
    assert not re.search(r"\son\w+=[^&]*&#34;|<[^>]*\son\w+\s*=", body_of(page).replace("onerror=&#34;", ""))


def test_marks_that_turn_the_direction_of_reading_are_spelt_out(tmp_path: Path) -> None:
    page = build_report([sample_runs.hostile(tmp_path / "run")])

    assert not {"\u202e", "\u2028"} & set(page)
    assert "\\u202e" in body_of(page)


def test_json_inside_a_script_element_cannot_leave_it_and_still_says_the_same() -> None:
    value = {"a": ["</script><!--", "\u2028\u2029", 'quote" and \\ slash', "&amp;"]}

    embedded = str(script_json(value))

    assert not set("<>&\u2028\u2029") & set(embedded)
    assert json.loads(embedded) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a\\u202eb"),
        ("a\x00\x1b\x7fb", "a\\u0000\\u001b\\u007fb"),
        ("line\nend\tand tab", "line\nend\tand tab"),
        ("Größe 数", "Größe 数"),
        ("log: /tmp/lab-1/mysql/error.log", "log: …/error.log"),
        ("POST http://127.0.0.1:8000/a/b/c and /tasks/7", "POST http://127.0.0.1:8000/a/b/c and /tasks/7"),
    ],
)
def test_what_cannot_be_seen_is_spelt_out_and_a_full_path_cut_short(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_task_that_names_a_script_url_is_text_and_its_link_leads_into_the_page(tmp_path: Path) -> None:
    page = build_report([sample_runs.hostile(tmp_path / "run")])

    assert f'<a class="task" href="#run1-journey4">{sample_runs.HOSTILE_LINK}</a>' in page


def test_a_page_says_nothing_of_where_the_lab_lay(tmp_path: Path) -> None:
    log = tmp_path / "run" / "logs" / "mysql.log"
    problem = f"mysql ended with exit code 1 (log: {log})"
    run = sample_runs.Recording(tmp_path / "run").write(
        sample_runs.facts_of(
            "reference",
            argv=["/home/somebody/.venv/bin/tasklab", "run", "--out", str(tmp_path)],
            problems=[problem],
            strikes=[sample_runs.strike(evidence=f"see {log}", problem=f"'{log}' is empty")],
        ),
        sample_runs.judgement(
            {"no_lost_task": sample_runs.verdict("unknown", problem)},
            sample_runs.account(1, done=1),
            problems=[problem],
        ),
    )

    page = build_report([run])

    assert "somebody" not in page
    assert str(tmp_path.parent) not in page
    assert "tasklab check run" in page
    assert "(log: …/mysql.log)" in page


def test_the_dots_name_their_tasks(tmp_path: Path) -> None:
    (charts,) = charts_in(build_report([sample_runs.undecided(tmp_path / "run")]))

    latency = charts["latency"]
    assert isinstance(latency, dict)
    assert latency["task"] == [f"task-{n:04d}" for n in range(1, 61)]
    assert latency["never"] == []


def test_a_history_of_a_hundred_thousand_events_gives_a_small_page(tmp_path: Path) -> None:
    page = build_report([sample_runs.large(tmp_path / "run")])

    assert "100,001 events" in page
    assert "too many tasks for one dot each: percentiles per 60 s" in page
    assert len(page) < 150_000


def test_many_witnesses_are_cut_and_the_rest_is_counted(tmp_path: Path) -> None:
    page = build_report([sample_runs.broken(tmp_path / "run", tasks=2000)])

    assert "The first 200 of 940; verdicts.json has all." in page
    assert "This page shows 40 of 941 journeys; verdicts.json has all." in page


def test_a_torn_last_line_is_told(tmp_path: Path) -> None:
    page = build_report([sample_runs.unfinished(tmp_path / "run")])

    assert "1 torn last line (of a process that was killed while it wrote) ignored" in page
    assert "32 acknowledged tasks had no recorded end when the record stops." in page


def test_a_run_that_recorded_nothing_still_has_a_report(tmp_path: Path) -> None:
    run = sample_runs.Recording(tmp_path / "run").write(
        sample_runs.facts_of("reference", finished=False, took_s=None, strikes=[], phases_ns={})
    )

    page = body_of(build_report([run]))

    assert "This run did not finish: the record stops 0 ms after it began." in page
    assert "No fault was planned, and none was recorded." in page
    assert "No event was recorded." in page


def test_a_directory_of_runs_stands_for_its_runs(tmp_path: Path) -> None:
    second, first = sample_runs.broken(tmp_path / "b"), sample_runs.held(tmp_path / "a")
    third = sample_runs.undecided(tmp_path / "c" / "deeper")
    (tmp_path / "unrelated").mkdir()

    assert find_runs([tmp_path, first]) == (first, second, third)


def test_a_path_without_a_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(NotARun, match=r"nowhere does not exist"):
        build_report([tmp_path / "nowhere"])
    with pytest.raises(NotARun, match=r"file is not a directory"):
        build_report([tmp_path / "file"])
    with pytest.raises(NotARun, match=r"holds no run: there is no run\.json in it"):
        build_report([tmp_path])


def test_a_damaged_run_json_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")

    with pytest.raises(NotARun, match=r"run\.json cannot be read: Input data was truncated"):
        build_report([tmp_path])


def test_the_matrix_sets_systems_side_by_side(tmp_path: Path) -> None:
    held, broken = read_run(sample_runs.held(tmp_path / "a")), read_run(sample_runs.broken(tmp_path / "b"))
    other = read_run(sample_runs.broken(tmp_path / "c", scenario="lease_expires"))
    green, red = Overall(Ruling.HELD, "fine"), Overall(Ruling.BROKEN, "not fine")
    grey = Overall(Ruling.UNKNOWN, "who knows")

    matrix = matrix_of([("run1", held, green), ("run2", held, grey), ("run3", broken, red), ("run4", other, red)])

    why = "no_lost_task, no_stuck_task"
    assert matrix == Matrix(
        systems=("reference", "naive"),
        cells={
            "broker_killed": {
                "reference": (
                    Entry("run1", "local, seed 7", Ruling.HELD, ""),
                    Entry("run2", "local, seed 7", Ruling.UNKNOWN, "who knows"),
                ),
                "naive": (Entry("run3", "local, seed 7", Ruling.BROKEN, why),),
            },
            "lease_expires": {"reference": (), "naive": (Entry("run4", "local, seed 7", Ruling.BROKEN, why),)},
        },
        empty={scenario: dict.fromkeys(("reference", "naive"), "not run") for scenario in matrix.cells},
        totals=(
            "reference: no guarantee broken in 2 runs, 1 unknown, 1 held.",
            "naive: a guarantee was broken in 2 of 2 runs.",
        ),
    )
    rates = {
        (scenario, system): matrix.rate(scenario, system) for scenario in matrix.cells for system in matrix.systems
    }
    assert rates == {
        ("broker_killed", "reference"): "unknown 1 of 2, held 1 of 2",
        ("broker_killed", "naive"): "",
        ("lease_expires", "reference"): "",
        ("lease_expires", "naive"): "",
    }


def test_a_process_that_ended_by_itself_is_in_the_report_with_the_end_of_its_log(tmp_path: Path) -> None:
    run = RunDirectory(sample_runs.held(tmp_path / "run"))
    facts = run.read_facts()
    facts.deaths = [
        DeathRecord(
            process="worker-1", times=2, how="exit code 0", log="worker-1.log", last_lines=("Unrecoverable <error>",)
        )
    ]
    run.write_facts(facts)

    page = build_report([run.path])

    assert "worker-1: 2 times, exit code 0, see logs/worker-1.log" in page
    assert "<pre>Unrecoverable &lt;error&gt;</pre>" in page


def test_a_scenario_that_is_not_applicable_to_a_system_has_a_cell_with_the_reason(tmp_path: Path) -> None:
    runs = [sample_runs.held(tmp_path / "a"), sample_runs.broken(tmp_path / "b")]
    inapplicable = Inapplicable("lock_expires", "naive", "it has no leader")

    page = write_report(runs, tmp_path / "report.html", inapplicable=[inapplicable]).read_text(encoding="utf-8")

    row = page[page.index("lock_expires") :].split("</tr>")[0]
    assert row.count("not run") == 1
    assert "not applicable: it has no leader" in row


def test_writing_replaces_an_older_report_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    run = sample_runs.held(tmp_path / "run")
    out = tmp_path / "out" / "report.html"
    out.parent.mkdir()
    out.write_text("old")

    assert write_report([run], out) == out
    assert out.read_text(encoding="utf-8") == build_report([run])
    assert list(out.parent.iterdir()) == [out]


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        (
            "reports",
            {
                "errors",
                *(f"judging.{name}" for name in ("guarantees", "journey", "judgement_record", "verdict")),
                *(f"record.{name}" for name in ("events", "history", "run_facts")),
                *(f"stored.{name}" for name in ("open_tasks", "rundir")),
            },
        ),
        (
            "loadtests",
            {"contract.http_answers", "contract.tasklab_probe", "record.history", "record.run_facts", "stored.rundir"},
        ),
    ],
)
def test_reports_and_load_tests_import_of_scenarios_only_what_the_architecture_allows(
    package: str, allowed: set[str]
) -> None:
    modules = (Path(reports.__file__).parents[1] / package).glob("*.py")
    imports = [
        node for file in modules for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)
    ]

    imported = {node.module for node in imports if node.module and node.module.startswith("scenarios")}

    assert imported == {f"scenarios.{name}" for name in allowed}


def test_the_page_beside_its_run_links_to_the_logs_and_shows_where_open_tasks_are(tmp_path: Path) -> None:
    run = sample_runs.held(tmp_path / "a run")
    (run / "logs" / "worker 1.log").write_text("started")
    found = OpenTaskSearch({"task-0001": "0157c1d3-e3a5", "task-0002": None})
    found.look("rabbitmq queue jobs", '{"id": "0157c1d3-e3a5"}')
    RunDirectory(run).write_open_tasks(found.result({"task-0002": "in <no> queue"}))

    page = write_report([run], tmp_path / "report.html").read_text()

    assert '<a href="a%20run/logs/worker%201.log">logs/worker 1.log</a>' in page
    assert "<td>rabbitmq queue jobs</td>" in page
    assert "in &lt;no&gt; queue" in page
    assert "in no message, key or row" in page


def test_a_page_without_a_place_links_to_no_file(tmp_path: Path) -> None:
    run = sample_runs.held(tmp_path / "run")
    (run / "logs" / "worker.log").write_text("started")

    assert not re.search(r"href=\"(?!#|data:,)", build_report([run]))


def test_damaged_open_tasks_are_left_out(tmp_path: Path) -> None:
    run = sample_runs.held(tmp_path / "run")
    (run / OPEN_TASKS_FILE).write_text('{"total": "many"}')

    assert "Where open tasks are" not in build_report([run])
