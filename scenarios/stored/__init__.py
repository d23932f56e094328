"""Runs and histories on disk: written, read, and judged; large ones by a prefilter."""
