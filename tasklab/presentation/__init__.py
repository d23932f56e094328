"""Presentation of results: on a terminal, as JSON, in sentences."""
