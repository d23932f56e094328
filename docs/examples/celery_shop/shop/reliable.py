"""Settings for work that must not be lost."""

task_acks_late = True
"""A message is acknowledged after its task has run: if the worker is killed, the task runs again."""
task_reject_on_worker_lost = True
"""Also if only the process of the pool was killed."""
worker_prefetch_multiplier = 1
"""A worker takes no message before it can run it."""
broker_transport_options = {"confirm_publish": True}
"""`delay()` returns when RabbitMQ has the message."""
