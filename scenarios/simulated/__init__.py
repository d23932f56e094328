"""Scenarios in the simulated world: the same words, judges and history vocabulary; thousands of worlds, every failure replayed."""
