"""The tables. Instants are integers: microseconds since the Unix epoch by the database's clock (`database_clock.now_us`)."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.mysql import MEDIUMTEXT

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "uq": "uq_%(table_name)s_%(column_0_N_name)s"}
)

# Byte-wise comparison: ids, users and keys that differ in case or accents are different.
_MYSQL: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
_GENERATED_ID = BigInteger().with_variant(Integer, "sqlite")  # SQLite generates ids only for an INTEGER primary key
_DOCUMENT = Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb")  # MySQL's TEXT is limited to 64 KiB

FAILURE_CLASS_CHARACTERS_MAX = 64
FAILURE_MESSAGE_CHARACTERS_MAX = 500

tasks = Table(
    "tasks",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("user_id", String(64), nullable=False),
    Column("type", String(64), nullable=False),
    Column("priority", SmallInteger, nullable=False),
    Column("status", String(16), nullable=False),
    # Identifies repeated submissions: a hash of the Idempotency-Key if there is one, else of the request.
    Column("request_key", String(64), nullable=False),
    Column("request_hash", String(64), nullable=False),
    Column("payload", _DOCUMENT, nullable=False),
    Column("result", _DOCUMENT),
    Column("failure_class", String(FAILURE_CLASS_CHARACTERS_MAX)),
    Column("failure_message", String(FAILURE_MESSAGE_CHARACTERS_MAX)),
    Column("attempt", Integer, nullable=False),
    Column("attempts_spent", Integer, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("lease_owner", String(128)),
    Column("lease_expires_us", BigInteger),
    Column("heartbeat_us", BigInteger),
    Column("next_attempt_us", BigInteger),
    Column("deadline_us", BigInteger),
    Column(
        "enqueued_us", BigInteger, nullable=False
    ),  # when its message was last due; the rescuer finds undelivered tasks by it
    Column("trace_id", String(64), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("updated_us", BigInteger, nullable=False),
    Column("last_run_us", BigInteger),
    UniqueConstraint("user_id", "request_key"),
    Index(None, "status", "updated_us"),  # the sweeps, and the metrics: tasks per state and the oldest of each
    **_MYSQL,
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", _GENERATED_ID, primary_key=True, autoincrement=True),
    Column("task_id", String(36), nullable=False),
    Column("queue", String(64), nullable=False),
    Column("body", String(255), nullable=False),
    Column("status", String(8), nullable=False),  # PENDING, SENT
    Column("available_us", BigInteger, nullable=False),  # not published before this instant; retries wait this way
    Column("claim", String(36)),
    Column("claim_expires_us", BigInteger),
    Column("created_us", BigInteger, nullable=False),
    Column("sent_us", BigInteger),
    Index(None, "status", "available_us"),  # the relay's batch, and the age of the oldest pending row
    **_MYSQL,
)

audit = Table(
    "audit",
    metadata,
    Column("id", _GENERATED_ID, primary_key=True, autoincrement=True),
    Column("task_id", String(36), nullable=False),
    Column("from_status", String(16)),
    Column("to_status", String(16), nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("actor", String(128), nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Index(None, "task_id"),  # the transitions of one task
    **_MYSQL,
)

dead_letters = Table(
    "dead_letters",
    metadata,
    Column("id", _GENERATED_ID, primary_key=True, autoincrement=True),
    Column("task_id", String(36), nullable=False),
    Column("reason", String(16), nullable=False),  # exhausted, poison
    Column("attempts", Integer, nullable=False),
    Column("failure_class", String(FAILURE_CLASS_CHARACTERS_MAX)),
    Column("failure_message", String(FAILURE_MESSAGE_CHARACTERS_MAX)),
    Column("created_us", BigInteger, nullable=False),
    Column("handled_us", BigInteger),
    Column("handled_how", String(200)),  # redriven, or why it was discarded
    Index(None, "handled_us", "id"),  # the open ones, oldest first
    **_MYSQL,
)

fences = Table(
    "fences",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("fence", BigInteger, nullable=False),
    Column("owner", String(128), nullable=False),
    **_MYSQL,
)
