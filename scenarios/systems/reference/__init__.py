"""The reference system as a system under test."""
