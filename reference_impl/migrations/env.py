"""Alembic environment: runs the migrations on the engine that `migrate` passes in."""

from alembic import context

from reference_impl.rows.schema import metadata

with context.config.attributes["engine"].connect() as connection:
    context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
