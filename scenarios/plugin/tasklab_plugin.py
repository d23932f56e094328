"""The words of a plug-in for an interpreter in which tasklab is not installed: `from tasklab_plugin import Outcome, Submit`.

One file, standard library only, from Python 3.8 on. The host of a client process brings it; nothing has to be installed. The
classes have the names and fields of those in `tasklab`, and mean the same (docs/writing_a_system.md).
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
    """A Redis primary, and the Sentinels that know the primary of now."""

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
class Services:
    """The addresses through which a system reaches its world."""

    namespace: str
    directory: Path
    http_port: int
    mysql: Optional[MysqlAddress] = None
    redis: Optional[RedisAddress] = None
    rabbitmq: Optional[RabbitmqAddress] = None
    links: Mapping[str, Services] = field(default_factory=dict)

    def as_seen_by(self, process: str) -> Services:
        """The same world through the links of one process."""
        return self.links.get(process, self)


@dataclass(frozen=True)
class Handlers:
    """How the lab's handler gets into the workers under test."""

    environment: Mapping[str, str]

    def environment_of(self, process: str) -> Dict[str, str]:
        """The variables for one process: those for all, and its name in the history."""
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
    """A client hands in a task. `task` is the lab's name for it and is inside `payload` too, under "task"."""

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
    """A client asks how a task is; `id` is what the system answered at its submission."""

    task: str
    id: str


@dataclass(frozen=True)
class Cancel:
    """A client withdraws a task."""

    task: str
    id: str


@dataclass(frozen=True)
class Pause:
    """A person stops the tasks of a scope, or all."""

    scope: Optional[str] = None


@dataclass(frozen=True)
class Resume:
    """A person lets the tasks of a scope, or all, start again."""

    scope: Optional[str] = None


@dataclass(frozen=True)
class Redrive:
    """A person puts a dead task back."""

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
    """The system's tasks by state, by the lab's names; None for a list that the system cannot give."""

    done: Optional[Sequence[str]] = None
    dead: Optional[Sequence[str]] = None
    cancelled: Optional[Sequence[str]] = None
    expired: Optional[Sequence[str]] = None
    pending: Optional[Sequence[str]] = None


@dataclass(frozen=True)
class Pace:
    """Seconds: the longest rest of the system, its lease and its leader's lock."""

    quiet_s: float = 10.0
    lease_s: Optional[float] = None
    lock_s: Optional[float] = None


@dataclass(frozen=True)
class Policy:
    """The limits that judges hold the system to (docs/history.md)."""

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
