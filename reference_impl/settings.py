"""The settings, read from REFERENCE_* environment variables; no other module of the package reads the environment."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from reference_impl.fast.rate_limit import Limit
from reference_impl.retry import RetryPolicy

PREFIX = "REFERENCE_"


class SettingsInvalid(ValueError):
    """A variable is unknown or has an invalid value; the message names it."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting with its default. REFERENCE_LEASE_S=30 sets `lease_s`; durations in seconds, sizes in bytes.

    Margins (R24): a lease lasts at least three heartbeat intervals; the relay's claim outlasts the wait for confirms; the lock outlasts a
    sweep interval; an undelivered task is enqueued again only after a lease and a relay claim could have expired.
    """

    database_url: str = "sqlite:///reference.db"
    broker_url: str = "memory:"
    cache_url: str = "memory:"
    sentinels: str = ""  # host:port,host:port,...
    sentinel_primary: str = ""
    prefix: str = ""  # of queue and key names, if several systems share a server

    name: str = ""  # of this process, unique; generated if empty
    http_host: str = "127.0.0.1"
    http_port: int = 8000
    authentication: Literal["tokens", "off"] = "tokens"  # off: every client may do everything
    users_file: str = ""  # of the API: lines USER TOKEN, or USER TOKEN operator
    body_timeout_s: float = 10.0  # how long a client may take to send the body of a request
    handlers: str = (
        ""  # package.module:attribute of a mapping from task type to handler, or of one handler for all types
    )
    leader_jobs: str = ""  # package.module:attribute of a sequence of leader jobs
    observer: str = ""  # package.module:attribute of an observer

    worker_slots: int = 4
    prefetch: int = 1  # per slot
    lease_s: float = 30.0
    heartbeat_s: float = 8.0
    attempts_max: int = 5
    delay_min_s: float = 2.0
    delay_max_s: float = 60.0
    delivery_limit: int = 20

    relay_batch: int = 100
    relay_idle_s: float = 0.05
    relay_claim_s: float = 30.0
    confirm_timeout_s: float = 10.0
    outbox_kept_s: float = 3600.0

    sweep_s: float = 5.0
    sweep_batch: int = 100
    lock_ttl_s: float = 30.0
    undelivered_after_s: float = 120.0

    payload_bytes_max: int = 64 * 1024
    result_bytes_max: int = 16 * 1024
    new_tasks_per_minute: int = 20
    progress_expiry_s: float = 7200.0
    pool_size: int = 10
    io_timeout_s: float = 5.0
    drain_s: float = 10.0  # how long a graceful shutdown waits for running attempts

    @property
    def retry_policy(self) -> RetryPolicy:
        """When a failed attempt is retried."""
        return RetryPolicy(self.attempts_max, self.delay_min_s, self.delay_max_s)

    @property
    def new_tasks_limit(self) -> Limit:
        """How many tasks a user may submit per minute."""
        return Limit("new_tasks", n_max=self.new_tasks_per_minute, window_s=60.0)

    @property
    def work_queue(self) -> str:
        """Name of the queue of tasks."""
        return f"{self.prefix}tasks"

    @property
    def dead_queue(self) -> str:
        """Name of the queue of dead letters."""
        return f"{self.prefix}tasks.dead"


_DEFAULT_BOUNDS: Mapping[type, tuple[float, float]] = {
    str: (0, 1000),
    int: (1, 1_000_000),
    float: (0.001, 30 * 86400.0),  # NaN fails every comparison
}
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "http_port": (0, 65535),
    "name": (0, 64),  # with a suffix it must fit the columns of owners and actors
    "prefix": (0, 54),  # with a queue's name it must fit the column of queues
    "prefetch": (1, 65535),
    "payload_bytes_max": (1, 1 << 20),  # the size of their columns
    "result_bytes_max": (1, 1 << 20),
}
_MARGINS = (
    ("lease_s", 3, "heartbeat_s"),
    ("relay_claim_s", 1.25, "confirm_timeout_s"),
    ("lock_ttl_s", 2, "sweep_s"),
    ("undelivered_after_s", 1, "lease_s + relay_claim_s"),
    ("delay_max_s", 1, "delay_min_s"),
)
"""Each duration, and the duration that it must exceed by the given factor (R24)."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """The settings given by the variables, with defaults for the others.

    Raises:
        SettingsInvalid: an unknown REFERENCE_ variable, a value of the wrong type or out of bounds, or a missing margin.
    """
    given = {name.removeprefix(PREFIX).lower(): value for name, value in environment.items() if name.startswith(PREFIX)}
    try:
        settings = msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"{PREFIX}* variables: {error}") from error
    problems = _problems_of(settings)
    if problems:
        raise SettingsInvalid(f"{PREFIX}* variables: {'; '.join(problems)}")
    return settings


def _problems_of(settings: Settings) -> list[str]:
    """Values out of bounds; if there are none, missing margins."""
    out_of_bounds = []
    for field in settings.__struct_fields__:
        value = getattr(settings, field)
        low, high = _BOUNDS.get(field, _DEFAULT_BOUNDS[type(value)])
        size = len(value) if isinstance(value, str) else value
        if not low <= size <= high:
            out_of_bounds.append(f"{field} must be from {low:g} to {high:g}{' characters' * isinstance(value, str)}")
    return out_of_bounds or [
        f"{longer} must be at least {times:g} × {guarded}"
        for longer, times, guarded in _MARGINS
        if getattr(settings, longer) < times * sum(getattr(settings, name) for name in guarded.split(" + "))
    ]


def environment_of(settings: Settings) -> dict[str, str]:
    """The variables from which `read_settings` makes these settings."""
    default = Settings()
    return {
        PREFIX + field.upper(): str(getattr(settings, field))
        for field in settings.__struct_fields__
        if getattr(settings, field) != getattr(default, field)
    }
