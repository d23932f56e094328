"""Redis as a service of the lab."""
