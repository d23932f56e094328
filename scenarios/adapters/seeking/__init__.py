"""Finds the apps and tasks of the libraries that the lab knows in a project's sources, without importing any of them."""
