"""MySQL as a service of the lab."""
