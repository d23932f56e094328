"""What runs inside the reference's real processes when the lab tests it.

Imports the probe by the name under which the lab puts it alone on the path, as it does for any other system.
"""

import tasklab_probe  # type: ignore[import-not-found]

from scenarios.systems.reference.probe import Watcher, handler, leader_job

handle = handler(tasklab_probe.probe, tasklab_probe.TaskError)
leader_jobs = (leader_job(tasklab_probe.probe),)
watcher = Watcher(tasklab_probe.probe)
