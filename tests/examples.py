"""The number of examples that Hypothesis draws: a share of the usual number in `make test-quick`, a multiple of it in the nightly run."""

import os

from hypothesis import HealthCheck, settings

FACTOR = float(os.environ.get("TASKLAB_EXAMPLES_FACTOR", "1"))
"""Above 1 the examples differ from run to run: the nightly run is to find new ones. Up to 1 they are always the same."""


def examples(count: int) -> settings:
    """Draw `count` examples, times the factor."""
    return settings(
        max_examples=max(1, round(count * FACTOR)),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=FACTOR <= 1,
    )
