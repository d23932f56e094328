"""Fast state in the cache: lock, rate limits, progress."""
