"""The example that claims every promise: it holds in every scenario that it can run embedded, and each planted defect is found."""

# ruff: noqa: N817 -- promises are written so often that a letter has to do

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from scenarios.judging.guarantees import Guarantee as G
from scenarios.lookup import find_scenario, scenario_names

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SEED = 1
AT_A_TIME = 3
EMBEDDED = [
    name
    for name in scenario_names()
    if not any(strike.fault.struck_service for strike in find_scenario(name).strikes)
    and "pool" not in find_scenario(name).needs
]
"""The scenarios that need no service and no child process to strike."""

FOUND = {
    "no_lost_task": ("tasks_cancelled", {G.NO_LOST_TASK, G.STARTS_IN_TIME}),
    "no_stuck_task": ("worker_lost", {G.NO_STUCK_TASK, G.RECOVERS_IN_TIME}),
    "no_phantom_task": ("tasks_cancelled", {G.NO_PHANTOM_TASK}),
    "exactly_one_effect": ("failing_tasks", {G.EXACTLY_ONE_EFFECT}),
    "effect_at_most_once": ("worker_killed_after_effect", {G.EFFECT_AT_MOST_ONCE, G.EXACTLY_ONE_EFFECT}),
    "duplicates_explained": ("results_read", {G.DUPLICATES_EXPLAINED}),
    "legal_transitions": ("failing_tasks", {G.LEGAL_TRANSITIONS}),
    "dead_letter_if_exhausted": ("failing_tasks", {G.DEAD_LETTER_IF_EXHAUSTED}),
    "retry_schedule": ("failing_tasks", {G.RETRY_SCHEDULE}),
    "poison_bounded": ("poison_tasks", {G.POISON_BOUNDED}),
    "single_holder": ("tasks_cancelled", {G.SINGLE_HOLDER}),
    "rate_limit_respected": ("users_burst", {G.RATE_LIMIT_RESPECTED}),
    "progress_monotonic": ("results_read", {G.PROGRESS_MONOTONIC}),
    "status_truthful": ("results_read", {G.STATUS_TRUTHFUL}),
    "outbox_atomic": ("failing_tasks", {G.OUTBOX_ATOMIC}),
    "idempotent_submission": ("resubmissions", {G.IDEMPOTENT_SUBMISSION}),
    "cancel_honoured": ("tasks_cancelled", {G.CANCEL_HONOURED}),
    "deadline_honoured": ("deadlines_pass", {G.DEADLINE_HONOURED}),
    "not_done_after_deadline": ("deadlines_pass", {G.NOT_DONE_AFTER_DEADLINE}),
    "lease_kept": ("long_work", {G.LEASE_KEPT}),
    "pause_honoured": ("tasks_paused", {G.PAUSE_HONOURED}),
    "not_before_due": ("due_later", {G.NOT_BEFORE_DUE}),
    "due_in_time": ("due_later", {G.DUE_IN_TIME}),
    "priority_bounded": ("priorities_mixed", {G.PRIORITY_BOUNDED}),
    "order_kept": ("order_disturbed", {G.ORDER_KEPT}),
    "recovers_in_time": ("worker_lost", {G.RECOVERS_IN_TIME}),
    "nothing_leaked": ("results_read", {G.NOTHING_LEAKED}),
    "outcome_reported": ("results_read", {G.OUTCOME_REPORTED}),
    "concurrency_bounded": ("users_burst", {G.CONCURRENCY_BOUNDED}),
    "starts_in_time": ("tasks_cancelled", {G.STARTS_IN_TIME}),
    "result_truthful": ("results_read", {G.RESULT_TRUTHFUL}),
    "schedule_kept": ("schedule_leader_killed", {G.SCHEDULE_KEPT}),
    "denied_only_when_full": ("users_burst", {G.DENIED_ONLY_WHEN_FULL}),
    "execution_rate_respected": ("users_burst", {G.EXECUTION_RATE_RESPECTED}),
}
"""By defect: the scenario in which it is planted, and the promises that are broken. What is lost never starts; what is stuck at the end
has not recovered in time; two effects of one step are more than one effect."""


def run(scenario: str, system: str, place: Path, defect: str | None = None) -> dict[str, Any]:
    """What --json says of a run of the office."""
    command = [sys.executable, "-m", "tasklab", "run", scenario, "--system", f"office.lab:{system}", "--json"]
    command += ["--environment", "embedded", "--seed", str(SEED), "--out", str(place)]
    environment = {**os.environ, **({} if defect is None else {"OFFICE_DEFECT": defect})}
    done = subprocess.run(command, cwd=EXAMPLES, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout, done.stderr
    (ran,) = json.loads(done.stdout)["runs"]
    found: dict[str, Any] = ran
    return found


class Runs:
    """Runs of the office, several at a time: most of each is waiting. Those of this session begin with the first test."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._pool = ThreadPoolExecutor(AT_A_TIME)
        self._started: dict[tuple[str, str | None], Future[dict[str, Any]]] = {}

    def start(self, scenario: str, defect: str | None) -> None:
        place = self._place / f"{scenario}-{defect}"
        self._started[scenario, defect] = self._pool.submit(run, scenario, "system", place, defect)

    def result(self, scenario: str, defect: str | None = None) -> dict[str, Any]:
        return self._started[scenario, defect].result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    with closing(Runs(tmp_path_factory.mktemp("office"))) as started:
        for item in request.session.items:
            if item.path == request.path and "runs" in getattr(item, "fixturenames", ()):
                given = item.callspec.params  # type: ignore[attr-defined]
                started.start(given.get("scenario") or given["where"], given.get("defect"))
        yield started


def broken(ran: dict[str, Any]) -> set[str]:
    return {name for name, verdict in ran["verdicts"].items() if verdict["verdict"] == "broken"}


def test_the_office_and_its_variant_claim_every_promise_and_each_but_one_can_be_broken() -> None:
    with examples_on_path():
        from office.lab import coalescing, system

    assert system.claims | coalescing.claims == set(G)
    assert set(FOUND) == set(G) - {G.FENCED_WRITES, G.COALESCED_SUBMISSION_RUNS}


@pytest.mark.parametrize("scenario", EMBEDDED)
def test_the_honest_office_keeps_every_promise_and_tests_what_is_at_stake(scenario: str, runs: Runs) -> None:
    ran = runs.result(scenario)

    assert {name: said for name, said in ran["verdicts"].items() if said["verdict"] != "held"} == {}
    assert (ran["exit_code"], ran["problems"]) == (0, [])
    at_stake = set(find_scenario(scenario).at_stake) - UNSURE.get(scenario, set())
    assert [name for name in at_stake if name in ran["verdicts"] and not ran["verdicts"][name]["exercised"]] == []


UNSURE = {
    "lock_expires": {G.DUPLICATES_EXPLAINED},
    "due_beyond_lease": {G.DUPLICATES_EXPLAINED},
    "long_work": {G.SINGLE_HOLDER},
}
"""Promises that the office need not come to: no task runs twice; and the killed worker may be the one that takes its task again."""


@pytest.mark.parametrize(("defect", "where", "promises"), [(name, *found) for name, found in FOUND.items()], ids=FOUND)
def test_a_planted_defect_is_found_by_the_promise_that_it_breaks(
    defect: str, where: str, promises: set[G], runs: Runs
) -> None:
    ran = runs.result(where, defect)

    assert broken(ran) == promises
    assert {name for name, said in ran["verdicts"].items() if said["verdict"] == "unknown"} == set()
    assert ran["problems"] == []


def test_an_office_that_coalesces_runs_every_submission(tmp_path: Path) -> None:
    honest = run("resubmissions", "coalescing", tmp_path / "honest")
    forgetful = run("resubmissions", "coalescing", tmp_path / "forgetful", defect="")

    assert (honest["exit_code"], honest["verdicts"]["coalesced_submission_runs"]["exercised"]) == (0, True)
    assert broken(forgetful) == {"coalesced_submission_runs"}


@contextmanager
def examples_on_path() -> Iterator[None]:
    sys.path.insert(0, str(EXAMPLES))
    try:
        yield
    finally:
        sys.path.remove(str(EXAMPLES))
