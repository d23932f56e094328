"""The judges: one promise a file, of the same name."""
