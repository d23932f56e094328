"""Scripts that measure: the figures in README.md and docs/ are theirs. Each is run by itself; none is a test."""
