"""One summary for each task of a large history, by DuckDB: which tasks are unremarkable, and their counts."""

# ruff: noqa: S608 -- statements consist of this module's constants; values from outside are parameters

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from scenarios.judging.policy import REPORT_S, Policy
from scenarios.judging.unremarkable import Unremarkable
from scenarios.record.events import FINAL_LISTS, NS_PER_S, ns_of
from scenarios.record.timeline import FOREVER_NS
from scenarios.stored.reading import is_packed

MEMORY_BYTES = 1200 * 10**6
ACCOUNT_MEMORY = 8
"""Memory for reading the account, as a multiple of its length."""
OBJECT_BYTES = 16 * 2**20
"""Maximum length of a line for DuckDB; only the account can be longer, and it is read separately."""
EVENTS_OF_UNREMARKABLE_MAX = 60
"""A subject with more events is remarkable; up to this number no six-bit counter overflows."""

_COLUMNS = {
    **dict.fromkeys(("t_ns", "attempt", "fence"), "BIGINT"),
    **dict.fromkeys(("t_s", "due_s", "deadline_s"), "DOUBLE"),
    **dict.fromkeys(
        (
            "event",
            "task",
            "resource",
            "then",
            "step",
            "from",
            "to",
            "state",
            "key",
            "user",
            "scope",
            "order_key",
            "result",
        ),
        "VARCHAR",
    ),
    **dict.fromkeys(("priority", "steps"), "BIGINT"),
    "children": "VARCHAR[]",
}

_COUNTED = (
    "submit.invoke",
    "submit.ok",
    "attempt.start",
    "attempt.ok",
    "effect",
    "state",
    "status",
    "progress",
    "lease.acquired",
    "lease.released",
)
"""Events that an unremarkable task may have, each counted in its own six bits of one sum."""

_IGNORED = (
    *("ack.invoke", "ack.ok"),
    *("cancel.invoke", "cancel.fail", "cancel.info"),
)
"""Events that no checker needs from a task that ran once and succeeded."""

_OTHER_BIT = 60
"""Above all counters: the sum is at least 2**60 if the subject has any other event."""


_TASK = "task:"
"""The optional prefix of a lease on a task; such a lease is a subject of its own in `summaries`."""
_MARK = "\x01"
"""Prefix of event names that have a row of their own in `summaries`."""


class Summaries:
    """One row for each task of the files, held by DuckDB, which spills to `directory` if memory does not suffice."""

    def __init__(self, files: Sequence[Path], directory: Path) -> None:
        self._connection = duckdb.connect(
            config={
                "memory_limit": f"{MEMORY_BYTES}B",
                "temp_directory": str(directory),
                "preserve_insertion_order": False,
            }
        )
        self._listed = dict.fromkeys(FINAL_LISTS, 0)
        """Number of tasks in each list of the account."""
        for name in FINAL_LISTS:
            self._connection.execute(f"CREATE TABLE listed_{name} (task VARCHAR)")
        self._connection.execute(_GROUPING.replace("{source}", _source(files)))
        marked = self._connection.execute(
            "DELETE FROM summaries WHERE starts_with(subject, ?) RETURNING subject, start_ns, last_ns", [_MARK]
        ).fetchall()
        self._spans = {subject[1:]: (earliest_ns, latest_ns) for subject, earliest_ns, latest_ns in marked}

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def list_final(self, file: Path, content_bytes: int) -> bool:
        """Read the lists of the `final` event in `file`; whether the list of done tasks is not null."""
        self._connection.execute(f"SET memory_limit = '{MEMORY_BYTES + ACCOUNT_MEMORY * content_bytes}B'")
        lists = "{" + ", ".join(f"'{name}': 'VARCHAR[]'" for name in FINAL_LISTS) + "}"
        self._connection.execute(
            "CREATE TABLE final AS SELECT * FROM read_json(?, format = 'newline_delimited',"
            f" columns = {lists}, maximum_object_size = {content_bytes + OBJECT_BYTES})",
            [str(file)],
        )
        for name in FINAL_LISTS:
            inserted = self._one(f"INSERT INTO listed_{name} SELECT unnest({name}) FROM final")
            self._listed[name] = inserted or 0
        has_done = self._one("SELECT count(done) FROM final")
        self._connection.execute("DROP TABLE final")
        return bool(has_done)

    @property
    def last_end_ns(self) -> int | None:
        """When the last attempt ended."""
        return self._one("SELECT max(end_ns) FROM summaries")

    @property
    def records_states(self) -> bool:
        """Whether the history has rows of an audit trail."""
        return bool(self._one("SELECT count(*) FROM summaries WHERE has_states"))

    def separate(self, policy: Policy, *, keep: Iterable[str], lists_done: bool) -> tuple[frozenset[str], Unremarkable]:
        """The remarkable subjects (tasks and resources), and the counts of the others."""
        conditions: list[tuple[str, list[Any]]] = [
            *self._conditions(policy, lists_done=lists_done),
            *(("subject = ?", [subject]) for subject in keep),
            *((f"subject IN (SELECT task FROM listed_{name})", []) for name in FINAL_LISTS[1:] if self._listed[name]),
            # With priorities, any task may have overtaken any other.
            ("names_priority OR (SELECT bool_or(names_priority) FROM summaries)", []),
            ("key IN (SELECT key FROM summaries WHERE key IS NOT NULL GROUP BY key HAVING count(*) > 1)", []),
        ]
        any_of = " OR ".join(f"coalesce({condition}, false)" for condition, _ in conditions)
        parameters = [parameter for _, some in conditions for parameter in some]
        self._connection.execute(f"UPDATE summaries SET plain = false WHERE plain AND ({any_of})", parameters)
        return self._remarkable(), self._unremarkable(policy, lists_done=lists_done)

    def _conditions(self, policy: Policy, *, lists_done: bool) -> Iterator[tuple[str, list[int]]]:
        """SQL conditions, with parameters, that make a task remarkable: by the policy, the account, pauses and faults."""
        if self.records_states:
            yield "NOT has_states", []
        if isinstance(policy.wait_s, int | float):
            yield "start_ns > acknowledged_ns + ?", [ns_of(policy.wait_s)]
        if policy.renew_s is not None:
            yield "end_ns > lease_ns + ?", [ns_of(policy.renew_s)]
            yield (
                f"subject IN (SELECT substr(subject, {len(_TASK) + 1}) FROM summaries WHERE starts_with(subject, '{_TASK}'))",
                [],
            )
        if _limits_all(policy):
            yield "true", []
        if "pause.ok" in self._spans:
            yield "start_ns BETWEEN ? AND ?", list(self._paused())
        if "fault.healed" in self._spans and policy.budget_s is not None:
            healed_ns = self._spans["fault.healed"][1]
            yield "last_ns > greatest(acknowledged_ns, ?) + ?", [healed_ns, ns_of(policy.budget_s)]
        if lists_done:
            yield "subject NOT IN (SELECT task FROM listed_done)", []
        late_ns = ns_of(REPORT_S if policy.budget_s is None else policy.budget_s)
        yield "read_ns > end_ns + ?", [late_ns]  # a status read so late

    def _paused(self) -> tuple[int, int]:
        """From the first pause to the last resumption: a start in between may be a violation."""
        earliest_ns, latest_ns = self._spans["pause.ok"]
        resumed_ns = self._spans.get("resume.ok", (0, latest_ns))[1]
        return earliest_ns, resumed_ns if resumed_ns > latest_ns else FOREVER_NS

    def _remarkable(self) -> frozenset[str]:
        listed = " UNION ALL ".join(f"SELECT task FROM listed_{name}" for name in FINAL_LISTS)
        rows = self._connection.execute(
            "SELECT subject FROM summaries WHERE NOT plain UNION"
            f" SELECT task FROM ({listed}) WHERE task NOT IN (SELECT subject FROM summaries)"
        ).fetchall()
        return frozenset(row[0] for row in rows)

    def _unremarkable(self, policy: Policy, *, lists_done: bool) -> Unremarkable:
        counts = self._connection.execute(
            "SELECT count(*), count_if(has_states), 3 * count_if(has_states), sum(reads), count_if(reads_final),"
            " sum(reports), count(key), count_if(has_deadline), sum(leases), sum(fenced), sum(results_read),"
            " count_if(results_read > 0 AND has_result) FROM summaries WHERE plain"
        ).fetchone()
        assert counts is not None
        counted = Unremarkable(*(int(count or 0) for count in counts))
        awaited = counted.tasks if isinstance(policy.wait_s, int | float) else 0
        deadlines = counted.with_deadline if policy.ends_at_deadline else 0
        return replace(counted, listed=counted.tasks if lists_done else 0, awaited=awaited, deadlines=deadlines)

    def _one(self, query: str) -> int | None:
        row = self._connection.execute(query).fetchone()
        assert row is not None
        value: int | None = row[0]
        return value


def _limits_all(policy: Policy) -> bool:
    """Whether the policy has a limit on all tasks, or on the tasks of a user."""
    limits: list[str] = [] if policy.concurrency is None else [policy.concurrency.by]
    limits += [] if policy.execution_window is None else [str(policy.execution_window.get("by") or "all")]
    return any(by in ("all", "user") for by in limits)


def _source(files: Sequence[Path]) -> str:
    """SQL for the rows of all files; the content decides whether a file is packed, not the name."""
    packed = [file for file in files if is_packed(file)]
    plain = [file for file in files if file not in packed]
    reads = [
        f"SELECT * FROM {_read(some, compression)}" for some, compression in ((plain, "none"), (packed, "gzip")) if some
    ]
    return "(" + " UNION ALL ".join(reads) + ")"


def _read(files: Sequence[Path], compression: str) -> str:
    names = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in _COLUMNS.items())
    # Malformed lines become rows of NULLs here; the scan that follows (scan.py) reports them.
    return (
        f"read_json([{names}], format = 'newline_delimited', ignore_errors = true, columns = {{{columns}}},"
        f" compression = '{compression}', maximum_object_size = {OBJECT_BYTES})"
    )


def _value_of(place: int) -> str:
    """SQL for a subject's count of the event at this place in _COUNTED."""
    return f"((code >> {6 * place}) & 63)"


(_INVOKED, _ACKNOWLEDGED, _STARTED, _SUCCEEDED, _EFFECTS, _ROWS, _READS, _REPORTS, _ACQUIRED, _RELEASED) = (
    _value_of(place) for place in range(len(_COUNTED))
)
_ONE = {event: 1 << (6 * place) for place, event in enumerate(_COUNTED)}
_OTHER = 1 << _OTHER_BIT
_CODES = " ".join(f"WHEN '{event}' THEN {one}" for event, one in _ONE.items())
_MARKED_EVENTS = ", ".join(f"'{event}'" for event in ("pause.ok", "resume.ok", "fault.healed"))
_MARKED = 0
"""The code of events that have a row of their own in `summaries`, with their first and last time."""
_MARKS = " ".join(f"WHEN {event} THEN {_MARKED}" for event in _MARKED_EVENTS.split(", "))
_IGNORED_NAMES = ", ".join(f"'{event}'" for event in _IGNORED)

_GROUPING = f"""
CREATE TABLE summaries AS
WITH named AS (
    SELECT
        CASE
            WHEN event IN ({_MARKED_EVENTS}) THEN '{_MARK}' || event
            WHEN resource IS NOT NULL AND (starts_with(event, 'lease.') OR starts_with(event, 'write')) THEN resource
            ELSE task
        END AS subject,
        CASE
            WHEN order_key IS NOT NULL OR scope IS NOT NULL OR due_s IS NOT NULL OR priority IS NOT NULL
                OR children IS NOT NULL OR "then" IS NOT NULL
                OR state IN ('FAILED', 'DEAD', 'CANCELLED', 'EXPIRED')
                OR (result IS NOT NULL AND event <> 'attempt.ok' AND (event <> 'status' OR state <> 'SUCCEEDED')) THEN {_OTHER}
            ELSE CASE event {_CODES} {_MARKS} ELSE {_OTHER} END
        END AS code,
        coalesce(t_ns, CAST(round(t_s * {NS_PER_S}) AS BIGINT)) AS t_ns,
        event = 'attempt.fail' AS is_failure,
        CASE WHEN event = 'effect' THEN coalesce(CAST(TRY_CAST(step AS BIGINT) AS VARCHAR), step, '1') END AS step,
        "from", "to", state, fence, steps, deadline_s, priority, result,
        CASE WHEN key IS NOT NULL THEN hash(key, coalesce("user", '')) END AS key
    FROM {{source}}
    WHERE event NOT IN ({_IGNORED_NAMES})
), grouped AS (
    SELECT
        subject,
        count(*) AS events,
        CAST(least(sum(code), {1 << 62}) AS BIGINT) AS code,
        bool_or(priority IS NOT NULL) AS names_priority,
        bool_or(code = {_ONE["state"]}) AS has_states,
        min(CASE WHEN code = {_ONE["effect"]} THEN hash(step) END) AS step_min,
        max(CASE WHEN code = {_ONE["effect"]} THEN hash(step) END) AS step_max,
        min(CASE WHEN code = {_ONE["effect"]} THEN coalesce(TRY_CAST(step AS BIGINT), 0) END) AS step_least,
        max(CASE WHEN code = {_ONE["effect"]} THEN TRY_CAST(step AS BIGINT) END) AS step_most,
        max(steps) AS steps,
        min(CASE WHEN code = {_ONE["effect"]} THEN fence END) AS fence_min,
        max(CASE WHEN code = {_ONE["effect"]} THEN fence END) AS fence_max,
        count(CASE WHEN code = {_ONE["effect"]} THEN fence END) AS fenced,
        min(key) AS key,
        max(key) AS key_max,
        min(CASE WHEN code IN ({_ONE["attempt.start"]}, {_MARKED}) THEN t_ns END) AS start_ns,
        min(CASE WHEN code = {_ONE["submit.ok"]} THEN t_ns END) AS acknowledged_ns,
        max(CASE WHEN code = {_ONE["attempt.ok"]} OR is_failure THEN t_ns END) AS end_ns,
        max(CASE WHEN code = {_ONE["status"]} THEN t_ns END) AS read_ns,
        min(result) AS result_min,
        max(result) AS result_max,
        count(result) AS results,
        count(CASE WHEN code = {_ONE["attempt.ok"]} THEN result END) AS results_returned,
        max(CASE WHEN code IN ({_ONE["attempt.ok"]}, {_ONE["effect"]}, {_MARKED}) THEN t_ns END) AS last_ns,
        min(CASE WHEN code = {_ONE["state"]} AND "to" = 'ACCEPTED' AND "from" IS NULL THEN t_ns END) AS accepted_ns,
        min(CASE WHEN code = {_ONE["state"]} AND "to" = 'RUNNING' AND "from" = 'ACCEPTED' THEN t_ns END) AS running_ns,
        min(CASE WHEN code = {_ONE["state"]} AND "to" = 'SUCCEEDED' AND "from" = 'RUNNING' THEN t_ns END) AS succeeded_ns,
        min(CASE WHEN code = {_ONE["status"]} AND state = 'SUCCEEDED' THEN t_ns END) AS read_final_ns,
        max(CASE WHEN code = {_ONE["status"]} AND state <> 'SUCCEEDED' THEN t_ns END) AS read_other_ns,
        min(deadline_s) AS deadline_s,
        min(CASE WHEN code = {_ONE["lease.acquired"]} THEN t_ns END) AS lease_ns
    FROM named
    WHERE subject IS NOT NULL
    GROUP BY subject
)
SELECT
    subject,
    coalesce(
        events <= {EVENTS_OF_UNREMARKABLE_MAX} AND code < {_OTHER}
        AND {_INVOKED} = 1 AND {_ACKNOWLEDGED} = 1 AND {_STARTED} = 1 AND {_SUCCEEDED} = 1
        AND ({_EFFECTS} = 1 OR ({_EFFECTS} = 2 AND step_min <> step_max))
        AND (steps IS NULL OR (step_least >= 1 AND step_most <= steps))
        AND {_REPORTS} <= 1 AND {_ACQUIRED} <= 1 AND {_RELEASED} <= {_ACQUIRED}
        AND fence_min IS NOT DISTINCT FROM fence_max
        AND key IS NOT DISTINCT FROM key_max
        AND (read_final_ns IS NULL OR read_other_ns IS NULL OR read_other_ns < read_final_ns)
        AND (read_final_ns IS NULL OR succeeded_ns IS NULL OR succeeded_ns <= read_final_ns)
        AND (read_final_ns IS NULL OR last_ns <= read_final_ns)
        AND result_min IS NOT DISTINCT FROM result_max
        AND (deadline_s IS NULL OR greatest(start_ns, end_ns, coalesce(succeeded_ns, end_ns)) <= deadline_s * {NS_PER_S} - 1)
        AND ({_ROWS} = 0 OR ({_ROWS} = 3 AND accepted_ns < running_ns AND running_ns < succeeded_ns)),
        false
    ) AS plain,
    has_states, start_ns, end_ns, lease_ns,
    last_ns, acknowledged_ns, read_ns, key, key <> key_max AS has_keys, names_priority,
    {_READS} AS reads,
    read_final_ns IS NOT NULL AS reads_final,
    {_REPORTS} AS reports,
    deadline_s IS NOT NULL AS has_deadline,
    {_ACQUIRED} AS leases,
    results - results_returned AS results_read,
    results_returned > 0 AS has_result,
    fenced
FROM grouped
"""
"""Groups events into one row a subject; a subject is plain if it meets every condition.

Actors are ignored: a lease that was acquired only once had only one holder.
"""
