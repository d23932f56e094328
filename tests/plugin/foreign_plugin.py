"""A plug-in for an interpreter without tasklab."""

from tasklab_plugin import Account, Outcome, Pace, ProcessSpec, Submit


class Foreign:
    """A system whose interpreter has no tasklab."""

    name = "foreign"
    claims = frozenset({"no_lost_task"})
    needs = frozenset({"redis"})
    pace = Pace(quiet_s=1.0)

    def __init__(self):
        self.tasks = []

    def processes(self, services, handlers):
        argv = ["worker", services.redis.url, services.as_seen_by("worker-1").redis.url, str(services.directory / "x")]
        return [ProcessSpec("worker-1", "worker", argv, handlers.environment_of("worker-1"))]

    def client(self, services):
        return self

    def invoke(self, operation):
        if not isinstance(operation, Submit):
            return Outcome("fail", detail="only submissions")
        self.tasks.append(operation.payload["task"])
        return Outcome("ok", id=operation.key)

    def close(self):
        pass

    def account(self, services):
        return Account(pending=self.tasks)


system = Foreign()
