"""A service of the user's own, as a service of the lab (docs/configuration.md)."""
