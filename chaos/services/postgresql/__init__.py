"""PostgreSQL as a service of the lab."""
