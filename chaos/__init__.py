"""Worlds for a system under test, and what can go wrong in them. Knows no system and no scenario."""
