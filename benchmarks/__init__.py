"""Scripts that measure; each prints a table of docs/performance.md."""
