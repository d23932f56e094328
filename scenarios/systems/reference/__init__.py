"""The reference system as the lab sees it."""
