"""Writes large histories with known anomalies in them, fast and from a seed: DuckDB builds the lines.

Of the troubled tasks, half fail once and are retried, a fifth survive the death of their worker, a fifth lose an ack, a tenth die of a
permanent error; all others run once and succeed. A few tasks misbehave, each kind as in `ANOMALIES`, which names the guarantees that it
violates; no other guarantee is violated.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

EVENTS_A_TASK = 10
SPACING_NS = 1_000_000
"""Every task has one millisecond; later events (retries) go to separate files, so that no file needs sorting."""

ANOMALIES: Mapping[str, tuple[str, ...]] = {
    "lost": ("no_lost_task",),
    "doubled": ("exactly_one_effect", "effect_at_most_once"),
    "idle": ("exactly_one_effect",),
    "unexplained": ("duplicates_explained",),
    "skipping": ("legal_transitions",),
    "untruthful": ("status_truthful",),
    "hasty": ("retry_schedule",),
}
"""Kinds of misbehaviour, and the guarantees that each violates."""

POLICY = {"attempts_max": 3, "delays_s": [[1, 2], [2, 4]], "tolerance_s": 0.5, "budget_s": 100_000}


@dataclass(frozen=True, slots=True)
class Planted:
    """The written files, the number of events, and by guarantee the tasks that violate it."""

    files: tuple[Path, ...]
    events: int
    broken: Mapping[str, tuple[str, ...]]


def write_history(directory: Path, *, events: int, seed: int, troubled: float, each: int = 5) -> Planted:
    """Write a history of about `events` events, a share `troubled` of its tasks troubled, and `each` tasks of every misbehaviour."""
    tasks = max(events // EVENTS_A_TASK, 100 * each * len(ANOMALIES))
    kinds = {
        kind: tuple(sorted(_name((number * each + one) * 97 + 13) for one in range(each)))
        for number, kind in enumerate(ANOMALIES)
    }
    connection = duckdb.connect(config={"memory_limit": "2GB", "temp_directory": str(directory)})
    connection.execute("CREATE TABLE planted (task VARCHAR, kind VARCHAR)")
    connection.executemany(
        "INSERT INTO planted VALUES (?, ?)", [(task, kind) for kind in kinds for task in kinds[kind]]
    )
    connection.execute(
        _TASKS, {"tasks": tasks, "seed": seed, "plain": round(1000 * (1 - troubled)), "troubled": troubled}
    )
    for name, lines in _FILES.items():
        file = directory / f"history.{name}.jsonl"
        connection.execute(
            f"COPY (SELECT unnest({lines}) FROM tasks) TO '{file}' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01')"
        )
    dead = [row[0] for row in connection.execute("SELECT task FROM tasks WHERE kind = 'dead' ORDER BY i").fetchall()]
    connection.close()
    _write_lab(directory / "history.lab.jsonl", tasks, excluded={*dead, *kinds["lost"]}, dead=dead)
    files = tuple(sorted(directory.glob("history.*.jsonl")))
    broken = {
        guarantee: tuple(
            sorted(task for kind, breaks in ANOMALIES.items() if guarantee in breaks for task in kinds[kind])
        )
        for breaks in ANOMALIES.values()
        for guarantee in breaks
    }
    return Planted(files, sum(_count_lines(file) for file in files), broken)


def _name(number: int) -> str:
    return f"task-{number}"


def _write_lab(file: Path, tasks: int, *, excluded: set[str], dead: list[str]) -> None:
    end_ns = (tasks + 100_000) * SPACING_NS
    with file.open("w") as stream:
        stream.write(f'{{"t_ns":{end_ns},"actor":"lab","event":"final","healed":true,"caught_up":true,"done":[')
        stream.writelines(_joined(name for number in range(tasks) if (name := _name(number)) not in excluded))
        stream.write('],"dead":[')
        stream.writelines(_joined(iter(dead)))
        stream.write('],"cancelled":[],"expired":[],"pending":[]}\n')


def _joined(names: Iterator[str]) -> Iterator[str]:
    separator = ""
    for name in names:
        yield f'{separator}"{name}"'
        separator = ","


def _count_lines(file: Path) -> int:
    with file.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(2**20), b""))


_TASKS = f"""
CREATE TABLE tasks AS
SELECT i, 'task-' || i AS task, i * {SPACING_NS} AS t, 'worker-' || (i % 16) AS worker,
    coalesce(planted.kind, CASE
        WHEN hash(i, $seed) % 1000 < $plain THEN 'plain'
        WHEN hash(i, $seed) % 1000 < $plain + 500 * $troubled THEN 'retried'
        WHEN hash(i, $seed) % 1000 < $plain + 700 * $troubled THEN 'crashed'
        WHEN hash(i, $seed) % 1000 < $plain + 900 * $troubled THEN 'unacked'
        ELSE 'dead'
    END) AS kind
FROM range(CAST($tasks AS BIGINT)) numbers(i) LEFT JOIN planted ON planted.task = 'task-' || i
ORDER BY i
"""


def _line(after_ns: int, actor: str, event: str, fields: str = "", *, only: str = "true") -> str:
    """SQL for one line, or NULL. `actor`: SQL; `fields`: further JSON fields; `only`: an SQL condition on the tasks."""
    text = f"""'{{"t_ns":' || (t + {after_ns}) || ',"actor":"' || {actor} || '","event":"{event}","task":"' || task || '"{fields}}}'"""
    return f"CASE WHEN {only} THEN {text} END"


def _lines(*lines: str) -> str:
    return f"list_filter([{', '.join(lines)}], lambda line: line IS NOT NULL)"


_TWICE = "kind IN ('retried', 'crashed', 'unacked', 'unexplained', 'hasty')"
_RAN = "kind <> 'lost'"
_ENDED_WELL = "kind NOT IN ('lost', 'retried', 'crashed', 'dead', 'hasty')"
_EFFECT_AT_ONCE = "kind NOT IN ('lost', 'retried', 'crashed', 'dead', 'idle', 'hasty')"
_S = 1_000_000_000
_LATER_NS = 1_700_000_000

_FILES = {
    "client": _lines(
        _line(0, "'client'", "submit.invoke"),
        _line(20_000, "'client'", "submit.ok"),
        _line(700_000, "'client'", "status", ',"state":"SUCCEEDED"', only="kind = 'untruthful'"),
        _line(710_000, "'client'", "status", ',"state":"RUNNING"', only="kind = 'untruthful'"),
    ),
    "database": _lines(
        _line(10_000, "'database'", "state", ',"to":"ACCEPTED"'),
        _line(
            100_000, "'database'", "state", ',"from":"ACCEPTED","to":"RUNNING"', only="kind NOT IN ('lost', 'skipping')"
        ),
        _line(
            400_000,
            "'database'",
            "state",
            ',"from":"RUNNING","to":"RETRYING"',
            only="kind IN ('retried', 'crashed', 'hasty')",
        ),
        _line(400_000, "'database'", "state", ',"from":"RUNNING","to":"FAILED"', only="kind = 'dead'"),
        _line(410_000, "'database'", "dead", ',"attempts":1,"reason":"permanent"', only="kind = 'dead'"),
        _line(
            450_000,
            "'database'",
            "state",
            ',"from":"RUNNING","to":"SUCCEEDED"',
            only=f"{_ENDED_WELL} AND kind <> 'skipping'",
        ),
        _line(450_000, "'database'", "state", ',"from":"ACCEPTED","to":"SUCCEEDED"', only="kind = 'skipping'"),
    ),
    "workers": _lines(
        _line(150_000, "worker", "attempt.start", ',"attempt":1', only=_RAN),
        _line(200_000, "worker", "effect", ',"attempt":1,"fence":1', only=_EFFECT_AT_ONCE),
        _line(210_000, "worker", "effect", ',"attempt":1,"fence":1', only="kind = 'doubled'"),
        _line(300_000, "worker", "attempt.ok", ',"attempt":1', only=_ENDED_WELL),
        _line(
            300_000, "worker", "attempt.fail", ',"attempt":1,"error":"transient"', only="kind IN ('retried', 'hasty')"
        ),
        _line(300_000, "worker", "attempt.fail", ',"attempt":1,"error":"permanent"', only="kind = 'dead'"),
        _line(310_000, "worker", "crash", only="kind = 'crashed'"),
        _line(500_000, "worker", "ack.invoke", ',"attempt":1', only="kind NOT IN ('lost', 'crashed')"),
        _line(510_000, "worker", "ack.ok", ',"attempt":1', only="kind NOT IN ('lost', 'crashed', 'unacked')"),
        _line(510_000, "worker", "ack.info", ',"attempt":1', only="kind = 'unacked'"),
        _line(600_000, "worker", "attempt.start", ',"attempt":2', only="kind = 'hasty'"),
    ),
    "later": _lines(
        _line(_LATER_NS, "'later'", "attempt.start", ',"attempt":2', only=f"{_TWICE} AND kind <> 'hasty'"),
        _line(_LATER_NS + 50_000, "'later'", "effect", ',"attempt":2,"fence":2', only="kind IN ('retried', 'crashed')"),
        _line(_LATER_NS + 100_000, "'later'", "attempt.ok", ',"attempt":2', only=f"{_TWICE} AND kind <> 'hasty'"),
    ),
    "hasty": _lines(
        _line(650_000, "'hasty'", "effect", ',"attempt":2,"fence":2', only="kind = 'hasty'"),
        _line(660_000, "worker", "attempt.ok", ',"attempt":2', only="kind = 'hasty'"),
    ),
    "database-later": _lines(
        _line(
            _LATER_NS - 50_000,
            "'database'",
            "state",
            ',"from":"RETRYING","to":"RUNNING"',
            only="kind IN ('retried', 'crashed')",
        ),
        _line(
            _LATER_NS + 200_000,
            "'database'",
            "state",
            ',"from":"RUNNING","to":"SUCCEEDED"',
            only="kind IN ('retried', 'crashed')",
        ),
    ),
}
