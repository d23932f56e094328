"""The first tables: tasks, outbox, audit, dead letters, fences."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import MEDIUMTEXT

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("task_id", sa.String(length=36), nullable=False),
        sa.Column("from_status", sa.String(length=16), nullable=True),
        sa.Column("to_status", sa.String(length=16), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("actor", sa.String(length=128), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
    )
    op.create_index(op.f("ix_audit_task_id"), "audit", ["task_id"], unique=False)
    op.create_table(
        "dead_letters",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("task_id", sa.String(length=36), nullable=False),
        sa.Column("reason", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failure_class", sa.String(length=64), nullable=True),
        sa.Column("failure_message", sa.String(length=500), nullable=True),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("handled_us", sa.BigInteger(), nullable=True),
        sa.Column("handled_how", sa.String(length=200), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
    )
    op.create_index(op.f("ix_dead_letters_handled_us_id"), "dead_letters", ["handled_us", "id"], unique=False)
    op.create_table(
        "fences",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("task_id", sa.String(length=36), nullable=False),
        sa.Column("queue", sa.String(length=64), nullable=False),
        sa.Column("body", sa.String(length=255), nullable=False),
        sa.Column("status", sa.String(length=8), nullable=False),
        sa.Column("available_us", sa.BigInteger(), nullable=False),
        sa.Column("claim", sa.String(length=36), nullable=True),
        sa.Column("claim_expires_us", sa.BigInteger(), nullable=True),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("sent_us", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
    )
    op.create_index(op.f("ix_outbox_status_available_us"), "outbox", ["status", "available_us"], unique=False)
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=64), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("request_key", sa.String(length=64), nullable=False),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.Column("payload", sa.Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb"), nullable=False),
        sa.Column("result", sa.Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb"), nullable=True),
        sa.Column("failure_class", sa.String(length=64), nullable=True),
        sa.Column("failure_message", sa.String(length=500), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("attempts_spent", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("lease_owner", sa.String(length=128), nullable=True),
        sa.Column("lease_expires_us", sa.BigInteger(), nullable=True),
        sa.Column("heartbeat_us", sa.BigInteger(), nullable=True),
        sa.Column("next_attempt_us", sa.BigInteger(), nullable=True),
        sa.Column("deadline_us", sa.BigInteger(), nullable=True),
        sa.Column("enqueued_us", sa.BigInteger(), nullable=False),
        sa.Column("trace_id", sa.String(length=64), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("updated_us", sa.BigInteger(), nullable=False),
        sa.Column("last_run_us", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("user_id", "request_key", name=op.f("uq_tasks_user_id_request_key")),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
    )
    op.create_index(op.f("ix_tasks_status_updated_us"), "tasks", ["status", "updated_us"], unique=False)


def downgrade() -> None:
    """Drop the tables and their content."""
    op.drop_index(op.f("ix_tasks_status_updated_us"), table_name="tasks")
    op.drop_table("tasks")
    op.drop_index(op.f("ix_outbox_status_available_us"), table_name="outbox")
    op.drop_table("outbox")
    op.drop_table("fences")
    op.drop_index(op.f("ix_dead_letters_handled_us_id"), table_name="dead_letters")
    op.drop_table("dead_letters")
    op.drop_index(op.f("ix_audit_task_id"), table_name="audit")
    op.drop_table("audit")
