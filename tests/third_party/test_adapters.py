"""Each scenario of the catalogue with the lab's own app of each library, recommended and by default: what breaks is documented.

Hours of real runs, so only `make test-adapters` runs them. `tasklab report runs/adapters` shows them side by side.
"""

from pathlib import Path

import pytest

from scenarios.adapters.adapted import LIBRARIES
from scenarios.lookup import scenario_names
from tasklab.exit_codes import EXIT_UNKNOWN
from tasklab.pytest_plugin import TasklabRun

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.adapters]

SEEDS = {"": (1, 2, 3), "@defaults": (1,)}
"""By configuration."""
UNDOCUMENTED = {
    # A worker that outlives the outage leaves a job in `doing` (docs/track_record.md); the documentation speaks of killed workers only.
    ("procrastinate@defaults", "broker_killed"): {"no_stuck_task", "outcome_reported"},
    ("procrastinate@defaults", "database_killed"): {"no_stuck_task", "outcome_reported"},
}
"""By app and scenario: what breaks, was followed by hand, and is in no documentation."""
KEPT_ONLY_THERE = {"no_lost_task", "no_stuck_task", "outcome_reported"}
RESTS_ON_KEYS = dict.fromkeys(
    ("broker_flushed", "broker_evicts", "broker_restarted_empty", "results_flushed"), KEPT_ONLY_THERE
)
"""By scenario, what breaks where tasks and results are kept only in the Redis whose keys are removed: their stories say so."""
APPS = [
    (library + configuration, seed) for library in LIBRARIES for configuration, seeds in SEEDS.items() for seed in seeds
]


@pytest.mark.parametrize("scenario", scenario_names())
@pytest.mark.parametrize(("system", "seed"), APPS)
def test_an_own_app_breaks_only_what_its_library_documents(
    tasklab_run: TasklabRun, third_party_python: Path, system: str, seed: int, scenario: str
) -> None:
    one = tasklab_run(scenario, system=system, seed=seed, python=str(third_party_python), check=False)

    if not one.is_applicable:
        pytest.skip(f"not applicable: {one.why}")
    broken = {name for name, said in one.verdicts.items() if said["verdict"] == "broken"}
    assert one.exit_code != EXIT_UNKNOWN, one.explain()
    expected = {*one.documented, *UNDOCUMENTED.get((system, scenario), ()), *RESTS_ON_KEYS.get(scenario, ())}
    assert broken <= expected, one.explain()
