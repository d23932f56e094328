"""The example of docs/writing_a_system.md: a small task queue, its worker, and its plug-in for the lab."""
