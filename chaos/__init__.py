"""Environments for a system under test, and the faults in them. Knows no system and no scenario."""
