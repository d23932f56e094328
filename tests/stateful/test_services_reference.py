"""Over real services the same machine: a few runs of a few steps. A failure is a run directory, not a shrunk one."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from chaos.environments.local import LocalEnvironment
from tests.stateful.machine import TaskSystemMachine
from tests.stateful.services_world import ServicesWorld

pytestmark = pytest.mark.services

RUNS = 3
"""The first is as simple as can be."""
STEPS = 6
LINKED = ("worker-1", "relay")


def test_over_real_services_no_steps_break_a_promise(local: LocalEnvironment, tmp_path: Path) -> None:
    failures: list[str] = []
    opened: list[Path] = []

    class ServicesReference(TaskSystemMachine):
        CRASHABLE = ("worker-1", "worker-2", "relay", "rescuer-1")
        CUTTABLE = tuple((process, service) for process in LINKED for service in ("rabbitmq", "mysql"))

        def open_world(self) -> ServicesWorld:
            opened.append(tmp_path / f"run-{len(opened) + 1}")
            world = ServicesWorld(local, opened[-1], linked=LINKED)
            assert world.storms, f"the run did not begin: tasklab check {opened[-1]}"
            return world

        def judge(self) -> None:
            judgement = self.world.finish()
            if judgement.exit_code != 0:
                failures.append(
                    f"{opened[-1]}: exit code {judgement.exit_code}; judge it again: tasklab check {opened[-1]}"
                )

    run_state_machine_as_test(
        ServicesReference,
        settings=settings(
            max_examples=RUNS,
            stateful_step_count=STEPS,
            phases=[Phase.generate],  # what real services do is not there a second time to be shrunk
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

    assert failures == []
    assert len(opened) == RUNS
