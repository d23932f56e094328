"""The classes for a plug-in in an interpreter without tasklab: `from tasklab_plugin import Outcome, Submit`.

One file, standard library only, from Python 3.8 on. The host of a client process provides it; no installation is needed. The
classes have the names, fields and meaning of those in `tasklab` (docs/writing_a_system.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple


@dataclass(frozen=True)
class MysqlAddress:
    """A MariaDB or MySQL server and the database of this run in it."""

    host: str
    port: int
    user: str
    password: str
    database: str
    url: str


@dataclass(frozen=True)
class RedisAddress:
    """A Redis primary, and the Sentinels that know the present primary."""

    host: str
    port: int
    sentinels: Tuple[Tuple[str, int], ...]
    primary_name: str
    url: str


@dataclass(frozen=True)
class RabbitmqAddress:
    """A RabbitMQ server."""

    host: str
    port: int
    user: str
    password: str
    vhost: str
    url: str


@dataclass(frozen=True)
class PostgresqlAddress:
    """A PostgreSQL server and the database of this run in it."""

    host: str
    port: int
    user: str
    password: str
    database: str
    url: str


@dataclass(frozen=True)
class Services:
    """The addresses of the services for a system."""

    namespace: str
    directory: Path
    http_port: int
    mysql: Optional[MysqlAddress] = None
    redis: Optional[RedisAddress] = None
    rabbitmq: Optional[RabbitmqAddress] = None
    postgresql: Optional[PostgresqlAddress] = None
    own: Mapping[str, Any] = field(default_factory=dict)
    links: Mapping[str, Services] = field(default_factory=dict)

    def as_seen_by(self, process: str) -> Services:
        """The same services through the links of one process."""
        return self.links.get(process, self)


@dataclass(frozen=True)
class Handlers:
    """How the lab's handler gets into the workers under test."""

    environment: Mapping[str, str]

    def environment_of(self, process: str) -> Dict[str, str]:
        """The variables for one process: `environment`, and its name in the history."""
        return {**self.environment, "TASKLAB_ACTOR": process}


@dataclass(frozen=True)
class ProcessSpec:
    """One operating-system process of a system under test."""

    name: str
    role: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Optional[Path] = None
    runs_once: bool = False
    stop_signal: str = "SIGTERM"
    also: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Submit:
    """A client submits a task. `task` is the lab's name for it, also in `payload` under "task"."""

    task: str
    payload: Mapping[str, Any]
    user: str = "user-1"
    key: Optional[str] = None
    deadline_s: Optional[float] = None
    due_s: Optional[float] = None
    order_key: Optional[str] = None
    priority: Optional[int] = None
    scope: Optional[str] = None


@dataclass(frozen=True)
class ReadStatus:
    """A client reads the status of a task; `id` is the system's answer to its submission."""

    task: str
    id: str


@dataclass(frozen=True)
class Cancel:
    """A client cancels a task."""

    task: str
    id: str


@dataclass(frozen=True)
class Pause:
    """A person pauses the tasks of a scope, or all."""

    scope: Optional[str] = None


@dataclass(frozen=True)
class Resume:
    """A person resumes the tasks of a scope, or all."""

    scope: Optional[str] = None


@dataclass(frozen=True)
class Redrive:
    """A person redrives a dead task."""

    task: str
    id: str


@dataclass(frozen=True)
class SetSchedule:
    """A client sets up a schedule: `times` occurrences, `every_s` seconds apart; the payload of occurrence k has "task": `NAME#k`."""

    name: str
    every_s: float
    times: int
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How an operation ended: `ok`, `fail` (it surely did not happen) or `info` (it may have happened)."""

    kind: str
    id: Optional[str] = None
    state: Optional[str] = None
    percent: Optional[float] = None
    detail: Optional[str] = None
    result: Optional[str] = None


@dataclass(frozen=True)
class Account:
    """The system's own lists of its tasks, by the lab's names; None for a list that it does not keep."""

    done: Optional[Sequence[str]] = None
    dead: Optional[Sequence[str]] = None
    cancelled: Optional[Sequence[str]] = None
    expired: Optional[Sequence[str]] = None
    pending: Optional[Sequence[str]] = None


@dataclass(frozen=True)
class Pace:
    """Seconds: the longest time without progress, the lease, and the leader's lock."""

    quiet_s: float = 10.0
    lease_s: Optional[float] = None
    lock_s: Optional[float] = None


@dataclass(frozen=True)
class Policy:
    """The limits by which checkers judge the system (docs/history.md)."""

    attempts_max: Optional[int] = None
    delays_s: Optional[List[Tuple[float, float]]] = None
    tolerance_s: Optional[float] = None
    budget_s: Optional[float] = None
    grace_s: Optional[float] = None
    window: Optional[Mapping[str, Any]] = None
    overtakes_max: Optional[int] = None
    ack_s: Optional[float] = None
    lease_s: Optional[float] = None
    key_window_s: Optional[float] = None
    result_ttl_s: Optional[float] = None
    wait_s: Any = None
    execution_window: Optional[Mapping[str, Any]] = None
    order: Optional[str] = None
    coalesce: Optional[bool] = None
    concurrency: Optional[Mapping[str, Any]] = None
    schedules: Optional[Mapping[str, Any]] = None
    catch_up: Optional[str] = None
    dead_letters: Optional[bool] = None
    renew_s: Optional[float] = None
    ends_at_deadline: Optional[bool] = None
    permanent_errors: Optional[Sequence[str]] = None
    lease_owner: Optional[str] = None
