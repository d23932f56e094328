"""The scenarios: one a file; the file's name is the scenario's name."""
