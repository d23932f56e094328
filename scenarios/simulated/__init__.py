"""Scenarios in simulated worlds: the same scenarios, judges and events; thousands of worlds, and every failure can be replayed."""
