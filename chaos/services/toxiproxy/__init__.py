"""Toxiproxy as a service of the lab."""
