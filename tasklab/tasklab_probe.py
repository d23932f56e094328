"""The old address of the probe. In a worker it is `tasklab_probe`, which the lab puts on the path of the processes that it starts."""

import warnings

from scenarios.contract.tasklab_probe import *  # noqa: F403

warnings.warn(
    "tasklab.tasklab_probe is an old address; a worker imports tasklab_probe, which the lab puts on its path",
    DeprecationWarning,
    stacklevel=2,
)
