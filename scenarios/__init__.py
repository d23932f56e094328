"""Experiments: what clients do, which fault strikes when, and what the record proves."""
