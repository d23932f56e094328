"""Loaded inside the reference's real processes when the lab tests it: handler, leader job and observer, by address (`terms.LAB`).

Imports the probe by its top-level name: the lab puts it on PYTHONPATH, as for any other system.
"""

import tasklab_probe

from scenarios.systems.reference.probe import LeaseRecorder, handler, leader_job

handle = handler(tasklab_probe.probe, tasklab_probe.TaskError)
leader_jobs = (leader_job(tasklab_probe.probe),)
observer = LeaseRecorder(tasklab_probe.probe)
