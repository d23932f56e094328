"""Prometheus metrics, one set per process."""

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from sqlalchemy import Connection, func, select

from reference_impl.rows import dead_letter, outbox
from reference_impl.rows.database_clock import US_PER_S, now_us
from reference_impl.rows.schema import tasks
from reference_impl.task import TaskState


class Metrics:
    """The counters of one process. Each instance has its own registry, so that two systems in one Python process do not share counters."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.submission_responses = self._counter(
            "submissions", "Submissions by the HTTP status of the response.", "status"
        )
        self.limits_unchecked = self._counter(
            "limits_unchecked", "Submissions accepted unchecked because Redis was down."
        )
        self.settled = self._counter("attempts_settled", "Attempts by outcome.", "outcome")
        self.redeliveries = self._counter("redeliveries", "Redelivered messages.")
        self.broker_connections_lost = self._counter("broker_connections_lost", "Lost connections to the broker.")
        self.published = self._counter("published", "Messages published, by the broker's answer.", "outcome")
        self.swept = self._counter("swept", "Tasks repaired by a sweep, by cause.", "cause")

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(f"reference_{name}", help_text, labels, registry=self.registry)

    def exposition(self) -> tuple[bytes, str]:
        """The counters in Prometheus text format, and their media type."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST


_UP = ("# HELP reference_database_up Whether the database answers.", "# TYPE reference_database_up gauge")
DATABASE_DOWN = "\n".join([*_UP, "reference_database_up 0"]) + "\n"
"""Replaces `database_gauges` while the database is down, so that the endpoint keeps serving the counters."""


def database_gauges(connection: Connection) -> str:
    """Gauges from the database, in Prometheus text format: tasks and oldest task per state, pending outbox rows, open dead letters."""
    rows = connection.execute(
        select(tasks.c.status, func.count().label("count"), (now_us() - func.min(tasks.c.updated_us)).label("age_us"))
        .group_by(tasks.c.status)
        .order_by(tasks.c.status)
    ).all()
    counts = {row.status: row.count for row in rows}
    ages = {row.status: row.age_us / US_PER_S for row in rows if not TaskState(row.status).is_final}
    lines = [*_UP, "reference_database_up 1", "# TYPE reference_tasks gauge"]
    lines += [f'reference_tasks{{state="{state}"}} {counts.get(state, 0)}' for state in TaskState]
    lines += ["# TYPE reference_oldest_task_seconds gauge"]
    lines += [f'reference_oldest_task_seconds{{state="{state}"}} {age:.6f}' for state, age in ages.items()]
    lines += ["# TYPE reference_outbox_pending gauge", f"reference_outbox_pending {outbox.pending_count(connection)}"]
    lines += [
        "# TYPE reference_dead_letters_open gauge",
        f"reference_dead_letters_open {dead_letter.open_count(connection)}",
    ]
    return "\n".join(lines) + "\n"
