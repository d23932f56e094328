"""What the app promises while the parts around it fail: tasklab starts its own RabbitMQ and Redis, and workers of this app."""

import pytest

pytestmark = pytest.mark.tasklab(celery="shop.tasks:app", task="shop.tasks.charge", seed=7)


@pytest.mark.parametrize("scenario", ["worker_lost", "worker_stopped"])
def test_no_charge_is_lost(tasklab_run, scenario):
    """Every charge that was accepted is done, or reported as failed."""
    tasklab_run(scenario)
