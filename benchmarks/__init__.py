"""Measurement scripts: they produced the figures in README.md and docs/. Each is a program; none is a test."""
