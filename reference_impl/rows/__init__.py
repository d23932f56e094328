"""The rows of a task: one transaction each."""
