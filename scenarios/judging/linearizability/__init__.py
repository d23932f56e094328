"""Linearizability of small objects, by search."""
