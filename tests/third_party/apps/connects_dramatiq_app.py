"""A shop that asks its broker for something while it is imported."""

from apps.dramatiq_app import charge

charge.broker.connection  # noqa: B018  asking for it connects
